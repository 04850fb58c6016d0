package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// cgroupRoot is where control groups are mounted.
const cgroupRoot = "/sys/fs/cgroup"

// pidsParent finds a directory in which groups can be made whose processes the kernel
// counts, for root, whom no other limit on processes binds; empty for none. own is
// /proc/self/cgroup of this process, count tells whether groups that are made in a
// directory have a limit.
func pidsParent(root, own string, count func(dir string) bool) string {
	for line := range strings.Lines(own) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) != 3 {
			continue
		}
		controllers, group := fields[1], filepath.Join("/", fields[2])
		switch {
		case slices.Contains(strings.Split(controllers, ","), "pids"): // version 1
			for _, dir := range []string{filepath.Join(root, controllers, group), filepath.Join(root, "pids", group)} {
				if count(dir) {
					return dir
				}
			}
		case controllers == "": // version 2: the group of a process cannot have others in it
			for group != "/" {
				group = filepath.Dir(group)
				dir := filepath.Join(root, group)
				enabled, err := os.ReadFile(filepath.Join(dir, "cgroup.subtree_control")) //nolint:gosec // of the kernel
				if err == nil && slices.Contains(strings.Fields(string(enabled)), "pids") && count(dir) {
					return dir
				}
			}
		}
	}
	return ""
}

// groupsCount reports whether a group that is made in a directory has a limit.
func groupsCount(dir string) bool {
	group, err := newPidsGroup(dir, 1)
	if err != nil {
		return false
	}
	return os.Remove(group) == nil
}

// newPidsGroup makes a group of at most so many processes, threads included.
func newPidsGroup(parent string, most int) (string, error) {
	group := filepath.Join(parent, "sandbox-"+randomHex())
	if err := os.Mkdir(group, 0o755); err != nil { //nolint:gosec // of the kernel
		return "", fmt.Errorf("make a control group: %w", err)
	}
	if err := os.WriteFile(filepath.Join(group, "pids.max"), []byte(strconv.Itoa(most)), 0); err != nil {
		_ = os.Remove(group)
		return "", fmt.Errorf("limit a control group: %w", err)
	}
	return group, nil
}

// joinGroup puts a process into a group, and with it all that it starts.
func joinGroup(group string, pid int) error {
	return os.WriteFile(filepath.Join(group, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0)
}
