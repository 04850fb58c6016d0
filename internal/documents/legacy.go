package documents

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// today names the present format of each old one.
var today = map[string]string{".doc": "docx", ".xls": "xlsx", ".ppt": "pptx", ".docx": "docx", ".xlsx": "xlsx", ".pptx": "pptx"}

// readLegacy lets LibreOffice make a document of today's format of an old one.
func readLegacy(ctx context.Context, s source) (Document, error) {
	ext := strings.ToLower(filepath.Ext(s.name))
	format := today[ext]
	if format == "" {
		return Document{}, refuse("its content is no %s document", strings.TrimPrefix(ext, "."))
	}
	if s.o.Office == "" {
		return Document{}, refuse("it has the format of before 2007, and LibreOffice is not installed: save it as .%s and upload it again", format)
	}
	dir, err := os.MkdirTemp("", "deerflow-office-")
	if err != nil {
		return Document{}, &setupError{fmt.Errorf("make a directory for LibreOffice: %w", err)}
	}
	defer func() { _ = os.RemoveAll(dir) }() // a temporary directory
	made, err := s.office(ctx, dir, ext, format)
	if err != nil {
		return Document{}, err
	}
	f, err := os.Open(made) //nolint:gosec // a file of the temporary directory
	if err != nil {
		return Document{}, refuse("LibreOffice could not read it")
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return Document{}, err
	}
	next := source{name: "document." + format, r: f, size: info.Size(), o: s.o}
	read, err := next.packed()
	if err != nil {
		return Document{}, &ConversionError{Reason: "LibreOffice could not read it", Err: err}
	}
	return read(ctx, next)
}

// office runs LibreOffice, with a profile of its own: one that runs already would
// take the order and not wait.
func (s source) office(ctx context.Context, dir, ext, format string) (string, error) {
	in := filepath.Join(dir, "document"+ext)
	f, err := os.OpenFile(in, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600) //nolint:gosec // a file of the temporary directory
	if err != nil {
		return "", &setupError{err}
	}
	_, err = io.Copy(f, io.NewSectionReader(s.r, 0, s.size))
	if err := errors.Join(err, f.Close()); err != nil {
		return "", &setupError{err}
	}
	out := filepath.Join(dir, "out")
	cmd := exec.CommandContext(ctx, s.o.Office, //nolint:gosec // the operator's LibreOffice
		"--headless", "--norestore", "--nolockcheck", "-env:UserInstallation=file://"+filepath.Join(dir, "profile"),
		"--convert-to", format, "--outdir", out, in)
	cmd.Dir = dir
	cmd.Env = []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH"), "TMPDIR=" + dir}
	if err := cmd.Run(); err != nil {
		return "", &ConversionError{Reason: "LibreOffice could not read it", Err: err}
	}
	return filepath.Join(out, "document."+format), nil
}
