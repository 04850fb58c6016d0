package sandbox

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// maxPattern bounds glob patterns, and with it the work of matching one.
const maxPattern = 1000

// GlobOptions say what Glob looks for.
type GlobOptions struct {
	// Pattern is matched against the path below the start: ** stands for any
	// number of directories. A pattern with no slash is matched against the name
	// alone, at any depth.
	Pattern string
	Dirs    bool // directories too
	Max     int  // how many paths to give; 0: all
}

// globber matches paths against a pattern.
type globber struct {
	pattern string
	base    bool // only the last element counts
}

func newGlobber(pattern string) (globber, error) {
	p := strings.TrimPrefix(pattern, "./")
	switch {
	case p == "":
		return globber{}, fmt.Errorf("%w: it is empty", ErrPattern)
	case len(p) > maxPattern:
		return globber{}, fmt.Errorf("%w: longer than %d bytes", ErrPattern, maxPattern)
	case path.IsAbs(p):
		return globber{}, fmt.Errorf("%w %q: it must be relative to the path that is searched", ErrPattern, p)
	case slices.Contains(strings.Split(p, "/"), ".."):
		return globber{}, fmt.Errorf("%w %q: %w", ErrPattern, p, ErrTraversal)
	case strings.Count(p, "**") > 8:
		return globber{}, fmt.Errorf("%w %q: too many **", ErrPattern, p)
	case !doublestar.ValidatePattern(p):
		return globber{}, fmt.Errorf("%w %q", ErrPattern, p)
	}
	return globber{pattern: p, base: !strings.Contains(p, "/")}, nil
}

func (g globber) match(name string) bool {
	if g.base {
		name = path.Base(name)
	}
	return doublestar.MatchUnvalidated(g.pattern, name)
}

// Glob finds files by name. An absolute pattern is understood when it begins
// with the path that is searched.
func (l *local) Glob(ctx context.Context, asked string, o GlobOptions) (Listing, error) {
	v := l.view()
	defer v.close()
	p, virtual, err := v.directory("glob", asked)
	if err != nil {
		return Listing{}, err
	}
	pattern := o.Pattern
	if below, ok := strings.CutPrefix(pattern, virtual+"/"); ok {
		pattern = below
	}
	g, err := newGlobber(pattern)
	if err != nil {
		return Listing{}, pathError("glob", virtual, err)
	}
	var out Listing
	out.Incomplete, err = v.walk(ctx, p, 0, func(f found) error {
		if f.dir && !o.Dirs || !g.match(f.path) {
			return nil
		}
		out.Total++
		if o.Max <= 0 || len(out.Paths) < o.Max {
			out.Paths = append(out.Paths, f.shown(virtual))
		}
		return nil
	})
	return out, pathError("glob", virtual, err)
}
