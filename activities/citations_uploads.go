package activities

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"strings"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"

	"deerflow/internal/evidence"
	"deerflow/internal/step"
	"deerflow/internal/uploads"
)

// Bounds of a look through the uploads of a thread.
const (
	maxUploadsRead = 64 << 20  // bytes of all files
	uploadsPiece   = 256 << 10 // bytes that are looked at together
)

// uploadsNaming tells which addresses, by their needles, are named by files that
// the user has uploaded, in whatever turn, or by the texts of documents among them.
// On an error it tells those that were found until then.
func (a *Activities) uploadsNaming(ctx context.Context, ref step.Ref, needles []string) (map[string]bool, error) {
	d, err := a.uploadsOf(ref.User, ref.Thread)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, uploads.ErrElsewhere) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = d.Close() }()
	files, err := d.Files()
	if err != nil {
		return nil, err
	}
	s := &uploadSearch{ctx: ctx, left: maxUploadsRead, open: map[string]string{}, found: map[string]bool{}}
	for _, needle := range needles {
		s.open[needle] = strings.ToLower(needle)
	}
	for _, info := range files {
		if len(s.open) == 0 || s.left <= 0 || ctx.Err() != nil {
			break
		}
		f, err := d.Open(info.Name())
		if err != nil {
			continue // removed meanwhile, or no file any more
		}
		s.file(f)
		_ = f.Close()
	}
	return s.found, ctx.Err()
}

// uploadSearch looks for needles in files.
type uploadSearch struct {
	ctx   context.Context //nolint:containedctx // it lives for one search
	left  int64           // bytes that may still be read
	open  map[string]string
	found map[string]bool
}

// file looks through one file, in constant memory. A piece ends at a space, which
// no address has in it. What cannot be read of it is left out.
func (s *uploadSearch) file(f io.Reader) {
	limited := &io.LimitedReader{R: f, N: s.left}
	r := transform.NewReader(limited, unicode.BOMOverride(encoding.Nop.NewDecoder()))
	buf := make([]byte, uploadsPiece)
	for n := 0; len(s.open) > 0 && s.ctx.Err() == nil; {
		m, err := io.ReadFull(r, buf[n:])
		n += m
		end := n
		if err == nil {
			if space := bytes.LastIndexAny(buf, " \t\r\n"); space > 0 {
				end = space
			}
		}
		s.piece(string(buf[:end]))
		if err != nil {
			break
		}
		n = copy(buf, buf[end:n])
	}
	s.left = limited.N
}

// unescaped undoes what JSON, HTML and Markdown do to addresses.
var unescaped = strings.NewReplacer(`\/`, "/", `\_`, "_", "&amp;", "&", `\u0026`, "&")

func (s *uploadSearch) piece(text string) {
	text = unescaped.Replace(strings.ToLower(text))
	for needle, lower := range s.open {
		if evidence.Mentions(text, lower) {
			s.found[needle] = true
			delete(s.open, needle)
		}
	}
}
