package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
)

// view holds the directories that one operation has open. They are opened anew
// for every operation, so that an idle thread costs no descriptors and a
// directory that was removed is made again.
type view struct {
	box   *local
	roots map[*mount]*os.Root
	own   *os.Root // the thread's directory
	links map[*mount]map[fileID]uint64
}

func (l *local) view() *view {
	return &view{box: l, roots: map[*mount]*os.Root{}, links: map[*mount]map[fileID]uint64{}}
}

func (v *view) close() {
	for _, r := range v.roots {
		_ = r.Close() // opened for looking only
	}
	if v.own != nil {
		_ = v.own.Close()
	}
}

// root opens a mount.
func (v *view) root(m *mount) (*os.Root, error) {
	if r, ok := v.roots[m]; ok {
		return r, nil
	}
	r, err := openBelow(m.top, m.sub)
	if errors.Is(err, fs.ErrNotExist) && m.sub != "" {
		if _, err = v.box.makeDirectories(); err == nil {
			r, err = openBelow(m.top, m.sub)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%w: open %s: %w", ErrUnavailable, m.virtual, cause(err))
	}
	v.roots[m] = r
	return r, nil
}

// thread opens the directory of the thread, which holds the journal beside the
// user's files.
func (v *view) thread() (*os.Root, error) {
	if v.own != nil {
		return v.own, nil
	}
	m := v.box.userData
	if _, err := v.root(m); err != nil {
		return nil, err
	}
	r, err := openBelow(m.top, path.Dir(m.sub))
	if err != nil {
		return nil, fmt.Errorf("%w: open the thread's directory: %w", ErrUnavailable, cause(err))
	}
	v.own = r
	return r, nil
}

// openBelow opens sub below top; no link on the way may lead out of top.
func openBelow(top, sub string) (*os.Root, error) {
	r, err := os.OpenRoot(top)
	if err != nil || sub == "" {
		return r, err
	}
	defer func() { _ = r.Close() }()
	return r.OpenRoot(sub)
}
