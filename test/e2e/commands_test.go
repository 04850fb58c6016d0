package e2e

import (
	"hash/crc32"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// seconds is a time that the commands of no other test sleep.
func seconds(t *testing.T, base string) string {
	t.Helper()
	return base + strconv.FormatUint(uint64(crc32.ChecksumIEEE([]byte(t.Name()))), 10)
}

// commandRuns looks for a live process with these arguments; zombies do not
// count.
func commandRuns(args ...string) bool {
	want := strings.Join(args, "\x00") + "\x00"
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return false
	}
	for _, e := range entries {
		cmdline, err := os.ReadFile(filepath.Join("/proc", e.Name(), "cmdline"))
		if err == nil && string(cmdline) == want {
			return true
		}
	}
	return false
}
