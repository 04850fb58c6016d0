package documents

import (
	"archive/zip"
	"errors"
	"io"
	"io/fs"
	"path"
	"strings"
)

// archive is an Office document of today: XML parts in a ZIP file.
type archive struct {
	files map[string]*zip.File // by name, without a leading slash
}

// openArchive checks what the archive says of its size. What it unpacks to is
// bounded again where a part is read, since the archive may lie.
func openArchive(r io.ReaderAt, size int64) (*archive, error) {
	z, err := zip.NewReader(r, size)
	if err != nil {
		return nil, err
	}
	if len(z.File) > maxEntries {
		return nil, refuse("it has %d parts, more than %d", len(z.File), maxEntries)
	}
	a := &archive{files: make(map[string]*zip.File, len(z.File))}
	var total uint64
	for _, f := range z.File {
		total += f.UncompressedSize64
		if total > maxUnpacked || f.UncompressedSize64 > maxUnpacked {
			return nil, refuse("it unpacks to more than %d MiB", maxUnpacked>>20)
		}
		name := strings.TrimPrefix(strings.ReplaceAll(f.Name, `\`, "/"), "/")
		if a.files[name] == nil { // of two with one name the first counts
			a.files[name] = f
		}
	}
	if total > ratioCounts && total/maxRatio > uint64(max(size, 1)) {
		return nil, refuse("it unpacks to %d times its size, as no document does", total/uint64(max(size, 1)))
	}
	return a, nil
}

// open opens a part. A part that is not there is fs.ErrNotExist.
func (a *archive) open(name string) (io.ReadCloser, error) {
	f := a.files[name]
	if f == nil {
		return nil, fs.ErrNotExist
	}
	r, err := f.Open()
	if err != nil {
		return nil, err
	}
	return &bounded{r: r, left: maxPart}, nil
}

// bounded fails where more comes than a part may have.
type bounded struct {
	r    io.ReadCloser
	left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, refuse("a part of it unpacks to more than %d MiB", maxPart>>20)
	}
	return n, err
}

func (b *bounded) Close() error { return b.r.Close() }

// tree reads a whole part; one that is not there is an empty node.
func (a *archive) tree(name string) (*node, error) {
	r, err := a.open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return &node{}, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }()
	return parse(r)
}

// relation leads from a part to another, or to an address outside.
type relation struct {
	kind     string // last element of its type, such as "slide"
	target   string // name of a part, or the address
	external bool
}

// relations are those of a part, by their ids.
func (a *archive) relations(part string) (map[string]relation, error) {
	root, err := a.tree(path.Join(path.Dir(part), "_rels", path.Base(part)+".rels"))
	if err != nil {
		return nil, err
	}
	list := map[string]relation{}
	for _, n := range root.all("Relationship") {
		r := relation{kind: path.Base(n.attr("Type")), target: n.attr("Target"), external: n.attr("TargetMode") == "External"}
		switch {
		case r.external:
		case strings.HasPrefix(r.target, "/"):
			r.target = strings.TrimPrefix(path.Clean(r.target), "/")
		default:
			r.target = path.Join(path.Dir(part), r.target)
		}
		list[n.attr("Id")] = r
	}
	return list, nil
}

// mainPart is the part that the document begins with, "" for no document.
func (a *archive) mainPart() string {
	relations, err := a.relations("")
	if err == nil {
		for _, r := range relations {
			if r.kind == "officeDocument" && a.files[r.target] != nil {
				return r.target
			}
		}
	}
	for _, usual := range []string{"word/document.xml", "ppt/presentation.xml", "xl/workbook.xml"} {
		if a.files[usual] != nil {
			return usual
		}
	}
	return ""
}

// related is the part of a kind that a part leads to, "" for none.
func related(relations map[string]relation, kind string) string {
	for _, r := range relations {
		if r.kind == kind && !r.external {
			return r.target
		}
	}
	return ""
}
