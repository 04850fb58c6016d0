package sandbox

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
)

// MaxEdit is the size up to which a file can be edited in place, in bytes.
const MaxEdit = 32 << 20

// tempPattern is the name of a file that is not complete yet; the ignore list
// knows it.
const tempPattern = ".write-%s.tmp"

// WriteOptions say how a file is written.
type WriteOptions struct {
	// Append keeps what the file has and writes behind it.
	Append bool
	// Key makes the write happen once: called again with the same key it finds
	// its own effect and changes nothing. It is the id of the message that the
	// tool call's result becomes; empty means no such memory.
	Key string
	// Check, when set, is asked before an existing file is changed, under the
	// file's lock, with its hash; an error of it refuses the write.
	Check func(hash string) error
}

// WriteResult is what a write did.
type WriteResult struct {
	Path   string // virtual
	Before string // hash of the old content, empty for a new file
	After  string // hash of the new content
	Size   int64  // bytes after the write
	// Repeated: an earlier attempt with the same key had done it already.
	Repeated bool
}

// WriteFile writes content to a file. It appears under its name only when it is
// complete. A link is followed; a hard link is not written through, the name
// gets a file of its own.
func (l *local) WriteFile(ctx context.Context, asked string, content io.Reader, o WriteOptions) (WriteResult, error) {
	return l.write(ctx, asked, o, func(old io.Reader, w io.Writer) error {
		if o.Append && old != nil {
			if _, err := io.Copy(w, old); err != nil {
				return err
			}
		}
		_, err := io.Copy(w, content)
		return err
	})
}

// Edit replaces the text of an existing file by what change makes of it. The
// file keeps its encoding. change may be called for a write that then turns out
// to be done already.
func (l *local) Edit(ctx context.Context, asked string, change func(old []byte) ([]byte, error), o WriteOptions) (WriteResult, error) {
	return l.write(ctx, asked, o, func(old io.Reader, w io.Writer) error {
		if old == nil {
			return fs.ErrNotExist
		}
		data, err := io.ReadAll(io.LimitReader(old, MaxEdit+1))
		if err != nil {
			return err
		}
		if len(data) > MaxEdit {
			return ErrTooLarge
		}
		set, kind := sniff(data[:min(len(data), sniffSize)], len(data) <= sniffSize)
		if kind != "" {
			return &BinaryError{Kind: kind, Size: int64(len(data))}
		}
		text, err := set.text(data)
		if err != nil {
			return err
		}
		if text, err = change(text); err != nil {
			return &changeError{err}
		}
		if data, err = set.bytes(text); err != nil {
			return err
		}
		_, err = w.Write(data)
		return err
	})
}

// changeError carries an error of the caller's own through, unwrapped again
// before it is returned.
type changeError struct{ err error }

func (e *changeError) Error() string { return e.err.Error() }

// write is the one way to change a file: compare, write beside it, note what is
// about to happen, rename, note that it happened. After a crash at any point a
// call with the same key either finds its effect or begins again.
func (l *local) write(ctx context.Context, asked string, o WriteOptions, produce func(old io.Reader, w io.Writer) error) (WriteResult, error) {
	if err := ctx.Err(); err != nil {
		return WriteResult{}, err
	}
	v := l.view()
	defer v.close()
	p, virtual, err := v.writable("write", asked)
	if err != nil {
		return WriteResult{}, err
	}
	unlock, err := l.provider.locks.lock(ctx, p.key())
	if err != nil {
		return WriteResult{}, err
	}
	defer unlock()

	w := &writing{ctx: ctx, view: v, place: p, options: o, result: WriteResult{Path: virtual}}
	defer w.close()
	err = w.run(produce)
	var own *changeError
	if errors.As(err, &own) {
		return w.result, own.err
	}
	return w.result, pathError("write", virtual, err)
}

// writing is one write in progress.
type writing struct {
	ctx     context.Context
	view    *view
	place   place
	options WriteOptions
	result  WriteResult
	root    *os.Root
	old     *os.File // nil when the file is new
	temp    string   // name of the new content until it is renamed
}

func (w *writing) close() {
	if w.old != nil {
		_ = w.old.Close()
	}
	if w.temp != "" {
		_ = w.root.Remove(w.temp)
	}
}

func (w *writing) run(produce func(old io.Reader, w io.Writer) error) error {
	crash := w.view.box.provider.crash
	var err error
	if w.root, err = w.view.root(w.place.mount); err != nil {
		return err
	}
	if err := w.openOld(); err != nil {
		return err
	}
	journal, err := w.view.journal(w.options.Key, w.place)
	if err != nil {
		return err
	}
	if err := journal.settle(w.result.Before); err != nil {
		return err
	}
	done, err := journal.done(w.result.Before, &w.result)
	if err != nil || done {
		return err
	}
	if w.options.Check != nil && w.old != nil {
		if err := w.options.Check(w.result.Before); err != nil {
			return &changeError{err}
		}
	}
	if err := w.writeTemp(produce); err != nil {
		return err
	}
	crash("written")
	if err := journal.intend(entry{Before: w.result.Before, After: w.result.After, Size: w.result.Size, Temp: w.temp}); err != nil {
		return err
	}
	crash("intended")
	if err := w.root.Rename(w.temp, w.place.name); err != nil {
		return err
	}
	w.temp = ""
	crash("renamed")
	return journal.finish()
}

// openOld opens and hashes what is there now.
func (w *writing) openOld() error {
	f, err := w.view.openRegular(w.place)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	w.old = f
	h := sha256.New()
	if _, err := io.Copy(h, &contextReader{ctx: w.ctx, r: f}); err != nil {
		return err
	}
	w.result.Before = hex.EncodeToString(h.Sum(nil))
	_, err = f.Seek(0, io.SeekStart)
	return err
}

// writeTemp makes the new content beside the target.
func (w *writing) writeTemp(produce func(old io.Reader, w io.Writer) error) error {
	dir, mode := path.Dir(w.place.name), fs.FileMode(0o644)
	if w.old == nil {
		if err := w.root.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	} else if info, err := w.old.Stat(); err == nil {
		mode = info.Mode().Perm()
	}
	name := path.Join(dir, fmt.Sprintf(tempPattern, randomHex()))
	f, err := w.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode|0o200)
	if err != nil {
		return err
	}
	w.temp = name
	var old io.Reader
	if w.old != nil {
		old = &contextReader{ctx: w.ctx, r: w.old}
	}
	h, n := sha256.New(), &counter{}
	err = produce(old, io.MultiWriter(f, h, n))
	if err == nil && w.old != nil {
		err = f.Chmod(mode) // the umask took bits from it
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return err
	}
	w.result.After, w.result.Size = hex.EncodeToString(h.Sum(nil)), n.n
	return nil
}

// counter counts the bytes that are written to it.
type counter struct{ n int64 }

func (c *counter) Write(b []byte) (int, error) {
	c.n += int64(len(b))
	return len(b), nil
}

// hashOf is the hash of a content in memory.
func hashOf(data []byte) string {
	h := sha256.New()
	_, _ = io.Copy(h, bytes.NewReader(data)) // a hash never fails
	return hex.EncodeToString(h.Sum(nil))
}
