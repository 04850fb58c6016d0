package sandbox

import (
	"context"
	"path"
)

// listDepth is how deep List looks, listMax how many entries it gives.
const (
	listDepth = 2
	listMax   = 10_000
)

// List is the tree under a directory, two levels deep, in the order of names.
func (l *local) List(ctx context.Context, asked string) (Listing, error) {
	v := l.view()
	defer v.close()
	p, virtual, err := v.directory("list", asked)
	if err != nil {
		return Listing{}, err
	}
	var out Listing
	out.Incomplete, err = v.walk(ctx, p, listDepth, func(f found) error {
		out.Total++
		if out.Total <= listMax {
			out.Paths = append(out.Paths, f.shown(virtual))
		}
		return nil
	})
	return out, pathError("list", virtual, err)
}

// shown is the virtual path of an entry; a directory ends with a slash.
func (f found) shown(start string) string {
	p := path.Join(start, f.path)
	if f.dir {
		p += "/"
	}
	return p
}
