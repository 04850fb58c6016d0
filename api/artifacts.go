package api

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"
)

// maxHashed is the size up to which the ETag of a file is the hash of what is
// in it: larger ones cannot be edited, and would be read whole for each range.
const maxHashed = 2 << 20

// artifact serves a file of a thread: ranges, validators, and headers by which
// no browser runs what an agent wrote.
func (s *Server) artifact(c echo.Context) error {
	o, err := s.fileOwner(c)
	if err != nil {
		return err
	}
	virtual, err := artifactPath(c)
	if err != nil {
		return err
	}
	f, err := s.o.Files.Open(c.Request().Context(), o, virtual)
	if errors.Is(err, ErrFileNotFound) {
		f, err = s.openInSkill(c.Request().Context(), o, virtual)
	}
	if err != nil {
		return artifactError(err, virtual)
	}
	defer func() { _ = f.Close() }()
	return serveFile(c, f)
}

// artifactError is the answer to a path that leads to no file.
func artifactError(err error, virtual string) error {
	switch {
	case errors.Is(err, ErrFileNotFound):
		return fail(http.StatusNotFound, "Artifact not found: %s", virtual)
	case errors.Is(err, ErrNotAFile):
		return fail(http.StatusBadRequest, "Path is not a file: %s", virtual)
	case errors.Is(err, ErrFileRefused):
		return fail(http.StatusForbidden, "Access denied: %s is not below %s", virtual, VirtualRoot)
	case errors.Is(err, ErrFileTooLarge):
		return fail(http.StatusRequestEntityTooLarge, "The file is larger than the limit of %d bytes", maxHashed)
	}
	return err
}

// artifactPath is the virtual path in the URL, checked for tricks before
// anything looks for it.
func artifactPath(c echo.Context) (string, error) {
	raw := c.Param("*")
	if c.Request().URL.RawPath != "" { // the router matched the escaped form
		decoded, err := url.PathUnescape(raw)
		if err != nil {
			return "", fail(http.StatusBadRequest, "The artifact path is not well encoded")
		}
		raw = decoded
	}
	raw = strings.TrimPrefix(raw, "/")
	parts := strings.Split(raw, "/")
	if slices.Contains(parts, "..") || slices.Contains(parts, ".") || strings.ContainsAny(raw, "\\\x00") {
		return "", fail(http.StatusForbidden, "Access denied: path traversal")
	}
	if len(parts) < 3 || "/"+parts[0]+"/"+parts[1] != VirtualRoot {
		return "", fail(http.StatusBadRequest, "An artifact path begins with %s/", strings.TrimPrefix(VirtualRoot, "/"))
	}
	return "/" + raw, nil
}

func serveFile(c echo.Context, f OpenFile) error {
	info := f.Info()
	download, err := queryFlag(c, "download", false)
	if err != nil {
		return err
	}
	head := make([]byte, 512)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("read %s: %w", info.Path, err)
	}
	tag, err := etag(f, &info)
	if err != nil {
		return err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("read %s: %w", info.Path, err)
	}
	kind, inline := mediaType(info.Name, head[:n]), "inline"
	h := c.Response().Header()
	if isActive(kind) {
		h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	}
	if isActive(kind) || download {
		inline = "attachment"
	}
	h.Set(echo.HeaderContentType, kind)
	h.Set("Content-Disposition", disposition(inline, info.Name))
	h.Set("Cache-Control", "private, no-cache")
	h.Set("Cross-Origin-Resource-Policy", "same-site")
	h.Set("ETag", tag)
	if info.Size == 0 && strings.HasPrefix(c.Request().Header.Get("Range"), "bytes=") {
		h.Set("Content-Range", "bytes */0")
		return c.NoContent(http.StatusRequestedRangeNotSatisfiable)
	}
	http.ServeContent(c.Response(), c.Request(), "", info.Modified, f)
	return nil
}

// etag is the hash of a small file, which whoever edits it sends back; a large
// one is told by size and time.
func etag(f OpenFile, info *FileInfo) (string, error) {
	if info.Size > maxHashed {
		return fmt.Sprintf(`"%x-%x"`, info.Size, info.Modified.UnixNano()), nil
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return "", fmt.Errorf("read %s: %w", info.Path, err)
	}
	hash := sha256.New()
	if _, err := io.Copy(hash, f); err != nil {
		return "", fmt.Errorf("read %s: %w", info.Path, err)
	}
	return `"` + hex.EncodeToString(hash.Sum(nil)) + `"`, nil
}
