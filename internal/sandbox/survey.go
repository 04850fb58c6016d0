package sandbox

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"
	"unicode/utf8"
)

// Surveyor is a sandbox that can describe all its files at once, cheaply enough
// to be asked after every command. Not every sandbox can.
type Surveyor interface {
	// Survey describes the files below the directories of o. What cannot be read
	// is left out. When the deadline of the context passes, the survey has what was
	// seen until then, and is truncated.
	Survey(ctx context.Context, o SurveyOptions) (Survey, error)
}

// SurveyOptions say what to look at and how closely.
type SurveyOptions struct {
	// Dirs are virtual directories. One that does not exist is empty.
	Dirs []string
	// Skip are names that are left out, beside those that listings leave out.
	Skip []string
	// MaxFiles bounds how many files are described.
	MaxFiles int
	// MaxHashed is the size in bytes up to which the content of a file is hashed,
	// MaxRead that of all files which are read for it.
	MaxHashed, MaxRead int64
	// MaxText is the size up to which the text of a file is given, MaxTexts that
	// of all such texts together.
	MaxText, MaxTexts int64
	// Known are files whose hash is taken over, and whose text is not wanted, when
	// their size and time have not changed; by path.
	Known map[string]Surveyed
}

// Surveyed is a file as a survey saw it.
type Surveyed struct {
	Path    string    `json:"p"` // virtual
	Size    int64     `json:"s"`
	ModTime time.Time `json:"t"`
	Hash    string    `json:"h,omitempty"` // SHA-256 in hex; empty for a large file and for a link
	Link    string    `json:"l,omitempty"` // what a link leads to, as it is written
	Binary  bool      `json:"b,omitempty"` // the content is no text; known when there is a hash
}

// Same reports whether nothing was changed between two looks at a file.
func (s *Surveyed) Same(t *Surveyed) bool {
	if s.Link != t.Link || s.Size != t.Size {
		return false
	}
	if s.Hash != "" && t.Hash != "" {
		return s.Hash == t.Hash
	}
	return s.Link != "" || s.ModTime.Equal(t.ModTime)
}

// Survey is what a look at all files found.
type Survey struct {
	Files []Surveyed // in the order of a walk, see [InWalkOrder]
	// Truncated: there are more, which were not looked at.
	Truncated bool
	// Deep: there are directories so deep that no survey looks at them.
	Deep bool
	// Texts are the contents of files that Known does not have, by their hash.
	Texts map[string]string
}

// InWalkOrder compares paths in the order in which a walk comes by: by their
// parts, not by their characters.
func InWalkOrder(a, b string) int {
	for {
		x, restA, moreA := strings.Cut(a, "/")
		y, restB, moreB := strings.Cut(b, "/")
		if n := strings.Compare(x, y); n != 0 || !moreA && !moreB {
			return n
		}
		if moreA != moreB {
			if moreB {
				return -1
			}
			return 1
		}
		a, b = restA, restB
	}
}

// Partial reports whether there is something that the survey does not have.
func (s *Survey) Partial() bool { return s.Truncated || s.Deep }

var _ Surveyor = (*local)(nil)

// Survey implements [Surveyor].
func (l *local) Survey(ctx context.Context, o SurveyOptions) (Survey, error) {
	v := l.view()
	defer v.close()
	s := &surveying{ctx: ctx, view: v, o: o, out: Survey{Texts: map[string]string{}}}
	for _, dir := range o.Dirs {
		p, virtual, err := v.directory("survey", dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return Survey{}, err
		}
		root, err := v.root(p.mount)
		if err != nil {
			return Survey{}, pathError("survey", virtual, err)
		}
		err = s.dir(root, p.name, found{path: virtual}, p.mount, 1)
		if errors.Is(err, errStop) || errors.Is(err, context.DeadlineExceeded) {
			s.out.Truncated = true
			break
		}
		if err != nil {
			return Survey{}, pathError("survey", virtual, err)
		}
	}
	return s.out, nil
}

type surveying struct {
	ctx   context.Context
	view  *view
	o     SurveyOptions
	out   Survey
	texts int64 // bytes of texts so far
	read  int64 // bytes of files so far
}

// dir surveys a directory, which stands in an open one; the path of what is found is
// the virtual one.
func (s *surveying) dir(parent *os.Root, base string, at found, m *mount, level int) error {
	w := &walk{ctx: s.ctx}
	dir, entries, err := w.open(parent, base)
	if err != nil {
		return s.ctx.Err() // gone or not readable: the rest still counts
	}
	defer func() { _ = dir.Close() }()
	s.out.Truncated = s.out.Truncated || w.incomplete
	for _, e := range entries {
		if unsurveyed(at.path, e) || s.skips(e.Name()) {
			continue
		}
		f := found{in: dir, base: e.Name(), path: path.Join(at.path, e.Name())}
		switch {
		case !e.IsDir():
			err = s.file(m, e, f)
		case level < maxDepth:
			err = s.dir(dir, f.base, f, m, level+1)
		default:
			s.out.Deep = true
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *surveying) skips(name string) bool {
	for _, skip := range s.o.Skip {
		if name == skip {
			return true
		}
	}
	return false
}

// file describes a regular file or a link.
func (s *surveying) file(m *mount, e fs.DirEntry, at found) error {
	isLink := e.Type()&fs.ModeSymlink != 0
	info, err := e.Info()
	if err != nil || !isLink && !info.Mode().IsRegular() {
		return nil //nolint:nilerr // gone meanwhile, or a pipe
	}
	if len(s.out.Files) >= s.o.MaxFiles {
		return errStop
	}
	f := Surveyed{Path: at.path, Size: info.Size(), ModTime: info.ModTime().UTC()}
	if isLink {
		target, err := at.in.Readlink(at.base)
		if err != nil {
			return nil //nolint:nilerr // gone meanwhile
		}
		f.Link = s.view.box.Mask(target)
	} else if known, ok := s.o.Known[at.path]; ok && known.Link == "" && known.Size == f.Size && known.ModTime.Equal(f.ModTime) {
		f.Hash, f.Binary = known.Hash, known.Binary
	} else if f.Size <= s.o.MaxHashed && s.read+f.Size <= s.o.MaxRead {
		if err := s.content(m, at, &f); err != nil {
			return err
		}
	}
	s.out.Files = append(s.out.Files, f)
	return nil
}

// content hashes a file, and keeps its text if there is room.
func (s *surveying) content(m *mount, at found, f *Surveyed) error {
	if err := s.ctx.Err(); err != nil {
		return err
	}
	file, _, err := s.view.openRegularIn(at.in, m, at.base)
	if err != nil {
		return nil // not readable: size and time must do
	}
	defer func() { _ = file.Close() }()
	data, err := io.ReadAll(io.LimitReader(file, s.o.MaxHashed+1))
	if err != nil || int64(len(data)) > s.o.MaxHashed {
		return nil // as above, or it grows
	}
	s.read += int64(len(data))
	sum := sha256.Sum256(data)
	f.Hash, f.Size = hex.EncodeToString(sum[:]), int64(len(data))
	f.Binary = !utf8.Valid(data) || strings.ContainsRune(string(data), 0)
	size := int64(len(data))
	if _, have := s.out.Texts[f.Hash]; have || f.Binary || size == 0 || size > s.o.MaxText || s.texts+size > s.o.MaxTexts {
		return nil
	}
	s.out.Texts[f.Hash] = string(data)
	s.texts += size
	return nil
}
