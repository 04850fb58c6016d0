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

	"github.com/google/uuid"
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
	staging := path.Join(path.Dir(name), stagingPrefix+uuid.NewString()+stagingSuffix)
	err = stage(ctx, root, staging, bytes.NewReader(content), int64(len(content)))
	if err == nil {
		err = root.Chmod(staging, info.Mode().Perm())
	}
	if err == nil {
		err = root.Rename(staging, name)
	}
	if err != nil {
		return FileInfo{}, errors.Join(fmt.Errorf("write %s: %w", virtualPath, fileError(err)), ignoreMissing(root.Remove(staging)))
	}
	return describe(root, path.Dir(name), path.Base(name))
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
