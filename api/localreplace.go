package api

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"unicode/utf8"

	"deerflow/internal/uploads"
)

// Replace implements [Files]. The new content takes the place of the old one in
// one step. Whoever writes the file in the moment between the look at its hash
// and that step loses; no run is active on a thread whose files are edited.
func (l *LocalFiles) Replace(ctx context.Context, o FileOwner, virtualPath string, content []byte, expected string) (FileInfo, error) {
	inside, err := insidePath(virtualPath)
	if err != nil {
		return FileInfo{}, err
	}
	root, err := l.root(o, false)
	if err != nil {
		return FileInfo{}, err
	}
	defer func() { _ = root.Close() }()
	name, err := findPath(root, inside)
	if err != nil {
		return FileInfo{}, err
	}
	info, err := root.Lstat(name)
	if err != nil {
		return FileInfo{}, fileError(err)
	}
	if !info.Mode().IsRegular() { // a link would be replaced, not followed
		return FileInfo{}, fmt.Errorf("%q is a %s: %w", name, kindOf(info.Mode()), ErrNotAFile)
	}
	if err := checkOld(root, name, expected); err != nil {
		return FileInfo{}, err
	}
	staging := path.Join(path.Dir(name), uploads.StagingName())
	err = ctx.Err()
	if err == nil {
		err = writeNew(root, staging, content, info.Mode().Perm())
	}
	if err == nil {
		err = root.Rename(staging, name)
	}
	if err != nil {
		_ = root.Remove(staging) // most often it is not there
		return FileInfo{}, fmt.Errorf("write %s: %w", virtualPath, fileError(err))
	}
	if info, err = root.Lstat(name); err != nil {
		return FileInfo{}, fileError(err)
	}
	return fileInfo(path.Dir(name), info), nil
}

// writeNew writes a file that is not there yet.
func writeNew(root *os.Root, name string, content []byte, mode os.FileMode) error {
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err == nil {
		err = f.Chmod(mode)
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// checkOld makes sure that a file is text, and the one that is meant.
func checkOld(root *os.Root, name, expected string) error {
	f, err := openRegular(root, name)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	old, err := io.ReadAll(io.LimitReader(f, maxHashed+1))
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	sum := sha256.Sum256(old)
	switch {
	case len(old) > maxHashed:
		return ErrFileTooLarge
	case !utf8.Valid(old) || bytes.ContainsRune(old, 0):
		return ErrNotText
	case hex.EncodeToString(sum[:]) != expected:
		return ErrFileChanged
	}
	return nil
}
