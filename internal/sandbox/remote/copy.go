package remote

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"
)

// copy makes the files on both sides the same. The caller has the machine's turn.
func (m *machine) copy(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, copyTimeout)
	defer cancel()
	there, err := m.scan(ctx)
	if err != nil {
		return err
	}
	if there.fresh {
		// It was made anew behind our back: what it does not have was not deleted.
		m.base = nil
		m.remade.Store(true)
	}
	if m.runner.o.Mounted {
		return nil
	}
	root, err := os.OpenRoot(m.data)
	if err != nil {
		return fmt.Errorf("open the files of thread %s: %w", m.thread, err)
	}
	defer func() { _ = root.Close() }()
	here, err := hostTree(root)
	if err != nil {
		return err
	}
	p := compare(here, there, m.base)
	base := make(map[string]pair, len(p.equal))
	for _, name := range p.equal {
		base[name] = pair{here: here.entries[name], there: there.entries[name]}
	}
	// What cannot be done stays out of the base, so it is tried again.
	m.base, m.partial = base, here.partial || there.partial
	if err := m.push(ctx, root, here, p.push); err != nil {
		return err
	}
	if err := m.dropAway(ctx, p.dropAway); err != nil {
		return err
	}
	if err := m.pull(ctx, root, here, there, p.pull); err != nil {
		return err
	}
	dropHere(root, here, p.dropHere)
	m.copied = time.Now()
	return nil
}

// dropHere deletes what was deleted on the machine, the deepest first. A file that was
// changed meanwhile stays, and so does a directory that is not empty.
func dropHere(root *os.Root, here tree, names []string) {
	for _, name := range slices.Backward(names) {
		info, err := root.Lstat(name)
		if err == nil && entryOf(info).same(here.entries[name]) {
			_ = root.Remove(name) // it stays in the copy, which is no harm
		}
	}
}

// dropAway deletes on the machine what was deleted here.
func (m *machine) dropAway(ctx context.Context, names []string) error {
	if len(names) == 0 {
		return nil
	}
	slices.Reverse(names)
	list := m.file(".list")
	if err := m.upload(ctx, list, strings.NewReader(strings.Join(names, "\x00")+"\x00")); err != nil {
		return err
	}
	_, err := m.script(ctx, fmt.Sprintf(`cd %s && xargs -0 rm -fd -- < %s 2>/dev/null; rm -f %[2]s`, quote(m.root), quote(list)))
	return err
}

// unchanged is nil while a file here is as it was seen.
func unchanged(root *os.Root, name string, seen entry, wasThere bool) error {
	info, err := root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !wasThere:
		return nil
	case err != nil:
		return err
	case !wasThere || !entryOf(info).same(seen):
		return errChanged
	}
	return nil
}

// errChanged: a file tool was quicker; its file stays and goes to the machine next.
var errChanged = errors.New("changed meanwhile")
