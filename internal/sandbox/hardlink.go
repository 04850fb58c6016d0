package sandbox

import (
	"io/fs"
	"os"
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
		c := linkCounter{names: map[fileID]uint64{}, budget: maxWalk}
		c.count(root, ".", 1)
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
	names  map[fileID]uint64
	budget int
}

// count goes through a directory that stands in an open one. What cannot be read, or
// is too deep, is not counted, so that in doubt a file is refused.
func (c *linkCounter) count(parent *os.Root, name string, level int) {
	if level > maxDepth {
		return
	}
	dir, err := parent.OpenRoot(name)
	if err != nil {
		return
	}
	defer func() { _ = dir.Close() }()
	entries, _, _ := readDirectory(dir)
	for _, e := range entries {
		if c.budget--; c.budget < 0 {
			return
		}
		if e.IsDir() {
			c.count(dir, e.Name(), level+1)
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
