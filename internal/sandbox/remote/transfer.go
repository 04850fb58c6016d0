package remote

import (
	"archive/tar"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path"
	"strings"
	"time"

	"deerflow/internal/sandbox"
)

// packed is how much goes into one archive, in bytes; a larger file goes alone.
const packed = 64 << 20

// push brings files and directories to the machine.
func (m *machine) push(ctx context.Context, root *os.Root, here tree, names []string) error {
	for len(names) > 0 {
		n, size := 0, int64(0)
		for n < len(names) && (n == 0 || size+here.entries[names[n]].size <= packed) {
			size += here.entries[names[n]].size
			n++
		}
		if err := m.pushSome(ctx, root, here, names[:n]); err != nil {
			return fmt.Errorf("bring files to the sandbox: %w", err)
		}
		names = names[n:]
	}
	return nil
}

func (m *machine) pushSome(ctx context.Context, root *os.Root, here tree, names []string) error {
	archive := m.file(".tar")
	r, w := io.Pipe()
	sent := make(chan map[string]pair, 1)
	go func() {
		pairs, err := pack(w, root, here, names)
		sent <- pairs
		_ = w.CloseWithError(err) // never fails
	}()
	err := m.upload(ctx, archive, r)
	_ = r.Close() // ends the packing if the machine did not want all of it
	pairs := <-sent
	if err != nil {
		return err
	}
	if _, err := m.script(ctx, fmt.Sprintf("tar -xpf %s -C %s --no-same-owner; s=$?; rm -f %[1]s; exit $s", quote(archive), quote(m.root))); err != nil {
		return err
	}
	for name, p := range pairs {
		m.base[name] = p
	}
	return nil
}

// pack writes an archive of files and gives those that it holds as they were seen.
func pack(w io.Writer, root *os.Root, here tree, names []string) (map[string]pair, error) {
	pairs := make(map[string]pair, len(names))
	out := tar.NewWriter(w)
	for _, name := range names {
		whole, err := packOne(out, root, name, here.entries[name])
		if err != nil {
			return nil, err
		}
		if whole {
			pairs[name] = pair{here: here.entries[name], there: here.entries[name]}
		}
	}
	return pairs, out.Close()
}

// packOne writes one file or directory. One that changes meanwhile goes as far as it
// is there, and again the next time.
func packOne(out *tar.Writer, root *os.Root, name string, e entry) (whole bool, err error) {
	head := &tar.Header{Name: name, Mode: int64(e.mode), ModTime: time.Unix(0, e.mtime), Format: tar.FormatPAX, Typeflag: tar.TypeReg, Size: e.size}
	if e.dir {
		head.Name, head.Typeflag, head.Size = name+"/", tar.TypeDir, 0
		return true, out.WriteHeader(head)
	}
	f, err := root.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer func() { _ = f.Close() }()
	if err := out.WriteHeader(head); err != nil {
		return false, err
	}
	n, err := io.Copy(out, io.LimitReader(f, e.size))
	if err != nil {
		return false, err
	}
	if n < e.size {
		_, err = io.CopyN(out, zeros{}, e.size-n)
		return false, err
	}
	info, err := f.Stat()
	return err == nil && entryOf(info).same(e), nil
}

// zeros never ends.
type zeros struct{}

func (zeros) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}

// upload writes a file on the machine, in constant memory.
func (m *machine) upload(ctx context.Context, name string, content io.Reader) error {
	path, err := json.Marshal(name)
	if err != nil {
		return err
	}
	r, w := io.Pipe()
	go func() {
		_, err := fmt.Fprintf(w, `{"file":%s,"encoding":"base64","append":false,"content":"`, path)
		if err == nil {
			encoder := base64.NewEncoder(base64.StdEncoding, w)
			if _, err = io.Copy(encoder, content); err == nil {
				err = encoder.Close()
			}
		}
		if err == nil {
			_, err = io.WriteString(w, `"}`)
		}
		_ = w.CloseWithError(err) // never fails
	}()
	err = m.api.call(ctx, http.MethodPost, "/v1/file/write", r, nil)
	_ = r.Close() // ends the encoding if the machine did not want all of it
	return err
}

// pull fetches files and directories from the machine.
func (m *machine) pull(ctx context.Context, root *os.Root, here, there tree, names []string) error {
	var files []string
	for _, name := range names {
		e := there.entries[name]
		if !e.dir {
			files = append(files, name)
		} else if err := root.MkdirAll(name, 0o755); err == nil {
			m.base[name] = pair{here: e, there: e}
		}
	}
	if len(files) == 0 {
		return nil
	}
	list, archive := m.file(".list"), m.file(".tar")
	if err := m.upload(ctx, list, strings.NewReader(strings.Join(files, "\x00")+"\x00")); err != nil {
		return fmt.Errorf("fetch files from the sandbox: %w", err)
	}
	// A file that has gone meanwhile is a complaint of tar, not an end.
	_, err := m.script(ctx, fmt.Sprintf("cd %s && tar --format=posix --no-recursion --null -T %s -cf %s; rm -f %[2]s; [ -s %[3]s ]",
		quote(m.root), quote(list), quote(archive)))
	if err == nil {
		err = m.unpack(ctx, archive, root, here, there, files)
	}
	if _, removed := m.script(ctx, "rm -f "+quote(archive)); err == nil {
		err = removed
	}
	if err != nil {
		return fmt.Errorf("fetch files from the sandbox: %w", err)
	}
	return nil
}

// unpack downloads an archive and writes what was asked for.
func (m *machine) unpack(ctx context.Context, archive string, root *os.Root, here, there tree, files []string) error {
	resp, err := m.api.send(ctx, http.MethodGet, "/v1/file/download?path="+url.QueryEscape(archive), nil)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return &replyError{status: resp.StatusCode, message: "download of " + archive}
	}
	wanted := make(map[string]bool, len(files))
	for _, name := range files {
		wanted[name] = true
	}
	box, err := m.runner.files.Acquire(ctx, m.user, m.thread)
	if err != nil {
		return err
	}
	in := tar.NewReader(resp.Body)
	for {
		head, err := in.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the archive of the sandbox: %w", err)
		}
		if !wanted[head.Name] || head.Typeflag != tar.TypeReg || head.Size > maxFile {
			continue
		}
		e := entry{size: head.Size, mtime: head.ModTime.UnixNano(), mode: fs.FileMode(head.Mode & 0o777)}
		seen, wasHere := here.entries[head.Name]
		err = m.keep(ctx, box, root, head.Name, in, e, func() error { return unchanged(root, head.Name, seen, wasHere) })
		if err == nil {
			m.base[head.Name] = pair{here: e, there: there.entries[head.Name]}
			continue
		}
		if ctx.Err() != nil || !spoilsOne(err) {
			return err
		}
		m.log("A file of a sandbox was not taken over", "sandbox", m.id, "file", head.Name, "error", err)
	}
}

// spoilsOne reports whether an error is about one file alone.
func spoilsOne(err error) bool {
	var misplaced *fs.PathError
	return !errors.Is(err, sandbox.ErrUnavailable) && (errors.Is(err, errChanged) || errors.As(err, &misplaced))
}

// keep writes one file here, whole or not at all, with its time and mode.
func (m *machine) keep(ctx context.Context, box sandbox.Sandbox, root *os.Root, name string, content io.Reader, e entry, check func() error) error {
	if err := check(); err != nil {
		return err
	}
	_, err := box.WriteFile(ctx, path.Join(sandbox.UserData, name), content, sandbox.WriteOptions{
		Check: func(string) error { return check() },
	})
	if err != nil {
		return err
	}
	if err := root.Chmod(name, e.mode|0o600); err != nil {
		return err
	}
	when := time.Unix(0, e.mtime)
	return root.Chtimes(name, when, when)
}
