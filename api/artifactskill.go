package api

import (
	"archive/zip"
	"bytes"
	"context"
	"fmt"
	"io"
	"path"
	"strings"
)

// skillExtension is that of a packed skill: a zip archive whose files can be read
// in it.
const skillExtension = ".skill"

// memoryFile is a file that was unpacked.
type memoryFile struct {
	*bytes.Reader
	info FileInfo
}

func (f *memoryFile) Info() FileInfo { return f.info }
func (*memoryFile) Close() error     { return nil }

// openInSkill opens a file in a packed skill, such as outputs/x.skill/SKILL.md.
// An archive that is none has no files.
func (s *Server) openInSkill(ctx context.Context, o FileOwner, virtual string) (OpenFile, error) {
	archive, inside, ok := strings.Cut(virtual, skillExtension+"/")
	if !ok {
		return nil, ErrFileNotFound
	}
	f, err := s.o.Files.Open(ctx, o, archive+skillExtension)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	at, ok := f.(io.ReaderAt)
	if !ok {
		return nil, ErrFileNotFound
	}
	packed, err := zip.NewReader(at, f.Info().Size)
	if err != nil {
		return nil, fmt.Errorf("%s is no archive: %w", archive+skillExtension, ErrFileNotFound)
	}
	for _, entry := range packed.File {
		if path.Clean(entry.Name) != inside || !entry.Mode().IsRegular() {
			continue
		}
		return unpack(entry, virtual)
	}
	return nil, ErrFileNotFound
}

// unpack reads an entry, whatever size the archive claims it to have.
func unpack(entry *zip.File, virtual string) (OpenFile, error) {
	r, err := entry.Open()
	if err != nil {
		return nil, fmt.Errorf("unpack %s: %w", virtual, ErrFileNotFound)
	}
	defer func() { _ = r.Close() }()
	data, err := io.ReadAll(io.LimitReader(r, maxHashed+1))
	if err != nil {
		return nil, fmt.Errorf("unpack %s: %w", virtual, ErrFileNotFound)
	}
	if len(data) > maxHashed {
		return nil, ErrFileTooLarge
	}
	return &memoryFile{Reader: bytes.NewReader(data), info: FileInfo{
		Name: path.Base(virtual), Path: virtual, Size: int64(len(data)), Modified: entry.Modified,
	}}, nil
}
