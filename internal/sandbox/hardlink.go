package sandbox

import (
	"io/fs"
	"os"
	"path"
)

// checkHardLinks refuses a file of the thread that has a name outside its
// directories: through it, what lies outside could be read (I02). Files with one
// name, nearly all, cost nothing; for the others the names inside are counted,
// once for an operation. Writing replaces a name, it does not write through it.
// What an operator mounts may have names wherever the operator wants.
func (v *view) checkHardLinks(m *mount, info fs.FileInfo) error {
	id, names := linkCount(info)
	if names <= 1 || m != v.box.userData {
		return nil
	}
	counts, ok := v.links[m]
	if !ok {
		root, err := v.root(m)
		if err != nil {
			return err
		}
		c := linkCounter{root: root, names: map[fileID]uint64{}, budget: maxWalk}
		c.count(".")
		counts = c.names
		v.links[m] = counts
	}
	if counts[id] < names {
		return ErrHardLink
	}
	return nil
}

// linkCounter counts the names of files that have several.
type linkCounter struct {
	root   *os.Root
	names  map[fileID]uint64
	budget int
}

// count goes through a directory. What cannot be read is not counted, so that in
// doubt a file is refused.
func (c *linkCounter) count(dir string) {
	d, err := c.root.Open(dir)
	if err != nil {
		return
	}
	entries, _ := d.ReadDir(maxEntries)
	_ = d.Close()
	for _, e := range entries {
		if c.budget--; c.budget < 0 {
			return
		}
		if e.IsDir() {
			c.count(path.Join(dir, e.Name()))
			continue
		}
		if !e.Type().IsRegular() {
			continue
		}
		if info, err := e.Info(); err == nil {
			if id, names := linkCount(info); names > 1 {
				c.names[id]++
			}
		}
	}
}
