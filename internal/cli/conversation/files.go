package conversation

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"deerflow/internal/cli"
)

// checkFiles looks whether the files can be uploaded, before anything is started for them. A file that is named twice
// is taken once.
func checkFiles(names []string) ([]string, error) {
	var files []string
	for _, name := range names {
		if err := checkFile(name); err != nil {
			return nil, &cli.ExitError{Code: cli.ExitUsage, Err: err}
		}
		path, err := filepath.Abs(name)
		if err != nil {
			return nil, cli.Exitf(cli.ExitUsage, "finding the file %s: %w", name, err)
		}
		if !slices.Contains(files, path) {
			files = append(files, path)
		}
	}
	return files, nil
}

func checkFile(name string) error {
	info, err := os.Stat(name)
	if err != nil {
		return fmt.Errorf("file to upload: %w", err)
	}
	if info.IsDir() {
		return fmt.Errorf("file to upload: %s is a directory; name the files in it", name)
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("file to upload: %s is no regular file", name)
	}
	f, err := os.Open(name) //nolint:gosec // the person at the command line names the file
	if err != nil {
		return fmt.Errorf("file to upload: %w", err)
	}
	return f.Close()
}
