//go:build failpoints

package failpoint

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
)

var (
	dir = os.Getenv("DEERFLOW_FAILPOINTS")
	mu  sync.Mutex // one call at a time looks at what is armed
)

// Here stands still for ever when the point is armed for the key.
func Here(p Point, key string) {
	if dir != "" && reach(filepath.Join(dir, string(p)+"@"+key)) {
		select {}
	}
}

// reach reports whether the call is the one that a file waits for, and says so
// there.
func reach(path string) bool {
	mu.Lock()
	defer mu.Unlock()
	armed := path + ".armed"
	data, err := os.ReadFile(armed) //nolint:gosec // the directory is the test's
	if err != nil {
		return false
	}
	if n, err := strconv.Atoi(strings.TrimSpace(string(data))); err == nil && n > 0 {
		return os.WriteFile(armed, []byte(strconv.Itoa(n-1)), 0o600) != nil
	}
	return os.Rename(armed, path+".reached") == nil
}
