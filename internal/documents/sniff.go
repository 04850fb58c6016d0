package documents

import (
	"bytes"
	"context"
	"errors"
	"io"
	"path"
	"strings"

	"github.com/richardlehane/mscfb"
)

type reader func(context.Context, source) (Document, error)

// reader chooses by what the file begins with: a .doc is often a .docx, and the
// other way round.
func (s source) reader() (reader, error) {
	head := make([]byte, min(1024, s.size))
	if _, err := s.r.ReadAt(head, 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	switch {
	case len(head) == 0:
		return nil, refuse("the file is empty")
	case bytes.HasPrefix(head, []byte("PK")):
		return s.packed()
	case bytes.HasPrefix(head, []byte("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")):
		return s.compound()
	case bytes.HasPrefix(head, []byte(`{\rtf`)):
		return readLegacy, nil
	case bytes.Contains(head, []byte("%PDF-")): // something may stand before it
		return readPDF, nil
	}
	return nil, refuse("its content is no %s document", strings.TrimPrefix(path.Ext(s.name), "."))
}

// packed tells the formats since 2007, which are archives of XML.
func (s source) packed() (reader, error) {
	a, err := openArchive(s.r, s.size)
	if err != nil {
		return nil, err
	}
	main := a.mainPart()
	switch {
	case strings.HasPrefix(main, "word/"):
		return readDocx, nil
	case strings.HasPrefix(main, "ppt/"):
		return readPptx, nil
	case strings.HasPrefix(main, "xl/"):
		return readXlsx, nil
	}
	return nil, refuse("it is an archive, but no Office document")
}

// compound tells the formats before 2007, and documents that are encrypted.
func (s source) compound() (reader, error) {
	file, err := mscfb.New(s.r)
	if err != nil {
		return nil, err
	}
	for entry, err := file.Next(); err == nil; entry, err = file.Next() {
		if entry.Name == "EncryptedPackage" {
			return nil, errProtected
		}
	}
	return readLegacy, nil
}

var errProtected = refuse("it is protected by a password")
