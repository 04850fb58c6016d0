package devserver

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// moveAside renames the database of dir, with its -wal and -shm, and its meta to names with the version that wrote
// them and the time. It returns the new path of the main file. Nothing is overwritten.
func moveAside(dir, version string) (string, error) {
	label, err := unusedLabel(dir, versionInName(version)+"."+time.Now().UTC().Format("20060102T150405Z"))
	if err != nil {
		return "", err
	}
	base := databaseFile + "." + label
	// The meta goes last: if this is interrupted, the next start still knows the version.
	var renames [][2]string
	for _, suffix := range databaseSuffixes() {
		// SQLite finds the -wal by the main file's name.
		renames = append(renames, [2]string{databaseFile + suffix, base + suffix})
	}
	renames = append(renames, [2]string{metaFile, metaFile + "." + label})
	for _, r := range renames {
		if err := renameIfThere(filepath.Join(dir, r[0]), filepath.Join(dir, r[1])); err != nil {
			return "", err
		}
	}
	return filepath.Join(dir, base), nil
}

// unusedLabel adds a number to label if a file of that name is there from another start in the same second.
func unusedLabel(dir, label string) (string, error) {
	candidate := label
	for n := 2; ; n++ {
		suffixes := databaseSuffixes()
		names := make([]string, 0, len(suffixes)+1)
		names = append(names, metaFile+"."+candidate)
		for _, suffix := range suffixes {
			names = append(names, databaseFile+"."+candidate+suffix)
		}
		taken, err := anyExists(dir, names)
		if err != nil {
			return "", fmt.Errorf("choosing a name for the old Temporal database: %w", err)
		}
		if !taken {
			return candidate, nil
		}
		candidate = fmt.Sprintf("%s.%d", label, n)
	}
}

func renameIfThere(from, to string) error {
	if err := os.Rename(from, to); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("moving the old Temporal database aside: %w", err)
	}
	return nil
}

func anyExists(dir string, names []string) (bool, error) {
	for _, name := range names {
		_, err := os.Lstat(filepath.Join(dir, name))
		if !errors.Is(err, fs.ErrNotExist) {
			return err == nil, err
		}
	}
	return false, nil
}
