package api

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"

	"deerflow/internal/uploads"
)

// localFile is an open file of a thread.
type localFile struct {
	*os.File
	info FileInfo
}

func (f *localFile) Info() FileInfo { return f.info }

// Open implements [Files].
func (l *LocalFiles) Open(_ context.Context, o FileOwner, virtualPath string) (OpenFile, error) {
	inside, err := insidePath(virtualPath)
	if err != nil {
		return nil, err
	}
	root, err := l.root(o, false)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	found, err := findPath(root, inside)
	if err != nil {
		return nil, err
	}
	return openRegular(root, found)
}

// insidePath is the part of a virtual path below [VirtualRoot]. Parts are
// compared whole, so a directory that begins like ours is another one (I01).
func insidePath(virtualPath string) (string, error) {
	parts := strings.Split(strings.TrimPrefix(virtualPath, "/"), "/")
	rootParts := strings.Split(strings.TrimPrefix(VirtualRoot, "/"), "/")
	if len(parts) <= len(rootParts) || !slices.Equal(parts[:len(rootParts)], rootParts) {
		return "", fmt.Errorf("%q is not below %s: %w", virtualPath, VirtualRoot, ErrFileRefused)
	}
	parts = parts[len(rootParts):]
	if !slices.Contains(virtualDirs(), parts[0]) {
		return "", fmt.Errorf("%q is in none of %s: %w", virtualPath, strings.Join(virtualDirs(), ", "), ErrFileRefused)
	}
	for _, part := range parts {
		if part == "" || part == "." || part == ".." || strings.ContainsAny(part, "\\\x00") {
			return "", fmt.Errorf("%q has an empty or a relative part: %w", virtualPath, ErrFileRefused)
		}
	}
	return path.Join(parts...), nil
}

// findPath finds a path as it is, else part by part in any Unicode form (I04).
func findPath(root *os.Root, inside string) (string, error) {
	_, err := root.Stat(inside)
	if err == nil {
		return inside, nil
	}
	if err = fileError(err); !errors.Is(err, ErrFileNotFound) {
		return "", err
	}
	found := ""
	for part := range strings.SplitSeq(inside, "/") {
		if _, err := root.Lstat(path.Join(found, part)); err == nil {
			found = path.Join(found, part)
			continue
		}
		entries, readErr := fs.ReadDir(root.FS(), path.Join(found, "."))
		i := slices.IndexFunc(entries, func(e fs.DirEntry) bool { return uploads.SameName(e.Name()) == uploads.SameName(part) })
		if readErr != nil || i < 0 {
			return "", err
		}
		found = path.Join(found, entries[i].Name())
	}
	return found, nil
}

// openRegular opens a file without waiting on what is none, such as a pipe.
func openRegular(root *os.Root, name string) (OpenFile, error) {
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, fileError(err)
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%q is a %s: %w", name, kindOf(info.Mode()), ErrNotAFile)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	described := fileInfo(path.Dir(name), info)
	described.Name = path.Base(name)
	described.Path = path.Join(VirtualRoot, name)
	return &localFile{File: f, info: described}, nil
}

func kindOf(mode fs.FileMode) string {
	if mode.IsDir() {
		return "directory"
	}
	return "special file"
}
