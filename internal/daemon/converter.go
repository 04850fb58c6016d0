package daemon

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"deerflow/internal/documents"
)

// ConvertCommand is the command of the program that converts one document.
const ConvertCommand = "convert-document"

// cacheDir is below the data directory; what is in it can be deleted.
const cacheDir = "cache"

// converter converts documents in processes of this program.
func (d *Daemon) converter() (*documents.Child, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find the program that converts documents: %w", err)
	}
	return documents.NewChild(documents.ChildOptions{
		Command: []string{program, ConvertCommand},
		Options: documents.Options{CacheDir: filepath.Join(d.dataDir, cacheDir), Office: findOffice()},
		Timeout: d.Config.Uploads.ConversionTimeout,
	}), nil
}

// findOffice is the path of LibreOffice, "" when it is not installed.
func findOffice() string {
	for _, name := range []string{"soffice", "libreoffice"} {
		if path, err := exec.LookPath(name); err == nil {
			if path, err = filepath.Abs(path); err == nil {
				return path
			}
		}
	}
	return ""
}
