package daemon

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"deerflow/internal/documents"
)

// ConvertCommand is the command of the program that converts one document.
const ConvertCommand = "convert-document"

// converter converts documents in processes of this program.
func (d *Daemon) converter() (*documents.Child, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find the program that converts documents: %w", err)
	}
	return documents.NewChild(documents.ChildOptions{
		Command: []string{program, ConvertCommand},
		Options: documents.Options{CacheDir: d.cacheDir(), Office: findOffice()},
		Timeout: d.Config.Uploads.ConversionTimeout,
	}), nil
}

// pageDocuments reads the documents among the pages of the web in the same way.
type pageDocuments struct{ converter *documents.Child }

// Convert implements [web.Documents].
func (p pageDocuments) Convert(ctx context.Context, name string, r io.ReaderAt, size int64) (string, error) {
	doc, err := p.converter.Convert(ctx, name, io.NewSectionReader(r, 0, size))
	return doc.Markdown, err
}

// cacheDir is where the PDF engine is kept compiled, for all data directories of a
// user; for a user without a place for such things it is below this one. What is
// in it can be deleted.
func (d *Daemon) cacheDir() string {
	if dir, err := os.UserCacheDir(); err == nil {
		if dir = filepath.Join(dir, "deerflow"); os.MkdirAll(dir, 0o700) == nil {
			return dir
		}
	}
	return filepath.Join(d.dataDir, "cache")
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
