package remote

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"deerflow/internal/sandbox"
)

// Bounds of the copy of a thread's files.
const (
	maxFiles = 20_000
	maxFile  = 100 << 20 // bytes
)

// directories are those of a thread.
var directories = []string{"workspace", "uploads", "outputs"}

// leftOut are directories that nobody reads as files and that fill a copy: what a
// package manager can make again.
var leftOut = []string{"node_modules", ".venv", "venv", "site-packages", "__pycache__", ".cache"}

// entry is a file or directory of one side.
type entry struct {
	dir   bool
	size  int64
	mtime int64 // nanoseconds since 1970
	mode  fs.FileMode
}

// same reports whether two entries are taken for the same content. Copying keeps the
// time of a file.
func (e entry) same(o entry) bool {
	return e.dir == o.dir && (e.dir || e.size == o.size && e.mtime == o.mtime)
}

// tree is one side: entries by their path below the thread's directory.
type tree struct {
	entries map[string]entry
	partial bool // there are more
	fresh   bool // the machine is not the one that was looked at before
}

// scanScript looks at the machine: makes the directories, tells a machine that has no
// mark of ours, and lists the files. R and M are set before it. A directory that only
// root can make is made by way of sudo, which the image has. The mark is set when the
// answer has arrived, not before: a machine that is taken for a known one seems to have
// deleted what it does not have.
const scanScript = `for d in workspace uploads outputs; do
if [ ! -d "$R/$d" ]; then rm -f "$M"; mkdir -p "$R/$d" 2>/dev/null || { sudo -n mkdir -p "$R/$d" && sudo -n chmod 0777 "$R/$d"; } || exit 1; fi
done
s=kept; [ -e "$M" ] || s=fresh
printf '<<%s:' "$s"
LIST
printf '>>'`

var scanned = regexp.MustCompile(`(?s)<<(kept|fresh):(.*)>>`)

// scan looks at the files of the machine.
func (m *machine) scan(ctx context.Context) (tree, error) {
	prune := make([]string, len(leftOut))
	for i, name := range leftOut {
		prune[i] = "-name " + quote(name)
	}
	list := ":"
	if !m.runner.o.Mounted {
		list = fmt.Sprintf(`cd "$R" && find workspace uploads outputs -type d \( %s \) -prune -o \( -type f -o -type d \) -printf '%%y %%s %%T@ %%m %%p\0' 2>/dev/null | head -z -n %d | base64 -w0`,
			strings.Join(prune, " -o "), maxFiles+1)
	}
	script := "R=" + quote(m.root) + "; M=" + quote(m.file("")) + "\n" + strings.Replace(scanScript, "LIST", list, 1)
	out, err := m.script(ctx, script)
	var cut *url.Error
	if errors.As(err, &cut) && ctx.Err() == nil && !errors.Is(err, errLost) {
		// A connection that was kept open to a machine that has gone since: only a new
		// one tells. Looking twice does no harm.
		out, err = m.script(ctx, script)
	}
	if err != nil {
		return tree{}, fmt.Errorf("look at the files of the sandbox: %w", err)
	}
	found := scanned.FindStringSubmatch(out)
	if found == nil {
		return tree{}, fmt.Errorf("look at the files of the sandbox: it answered %.200q", out)
	}
	data, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(found[2]), ""))
	if err != nil {
		return tree{}, fmt.Errorf("look at the files of the sandbox: %w", err)
	}
	t, err := parseTree(string(data))
	if err != nil {
		return t, err
	}
	if t.fresh = found[1] == "fresh"; t.fresh {
		_, err = m.script(ctx, ": > "+quote(m.file("")))
	}
	return t, err
}

// parseTree reads records of kind, size, time, mode and path.
func parseTree(text string) (tree, error) {
	t := tree{entries: map[string]entry{}}
	for record := range strings.SplitSeq(text, "\x00") {
		if record == "" {
			continue
		}
		f := strings.SplitN(record, " ", 5)
		if len(f) != 5 {
			return t, fmt.Errorf("the list of the sandbox's files has an entry %.100q", record)
		}
		size, err1 := strconv.ParseInt(f[1], 10, 64)
		mtime, err2 := parseTime(f[2])
		mode, err3 := strconv.ParseUint(f[3], 8, 32)
		if err := errors.Join(err1, err2, err3); err != nil {
			return t, fmt.Errorf("the list of the sandbox's files has an entry %.100q: %w", record, err)
		}
		if len(t.entries) == maxFiles {
			t.partial = true
			break
		}
		t.add(f[4], entry{dir: f[0] == "d", size: size, mtime: mtime, mode: fs.FileMode(mode & 0o777)})
	}
	return t, nil
}

// add keeps an entry that belongs to the copy. What a machine says is not relied on.
func (t *tree) add(name string, e entry) {
	if !fs.ValidPath(name) || !slices.Contains(directories, strings.SplitN(name, "/", 2)[0]) ||
		slices.Contains(directories, name) || !e.dir && e.size > maxFile || strings.ContainsRune(name, 0) {
		return
	}
	t.entries[name] = e
}

// parseTime reads seconds with a fraction.
func parseTime(text string) (int64, error) {
	whole, fraction, _ := strings.Cut(text, ".")
	sec, err := strconv.ParseInt(whole, 10, 64)
	if err != nil {
		return 0, err
	}
	nano, err := strconv.ParseInt((fraction + "000000000")[:9], 10, 64)
	return sec*1e9 + nano, err
}

// hostTree looks at the files here. Links are left out: they may lead anywhere.
func hostTree(root *os.Root) (tree, error) {
	t := tree{entries: map[string]entry{}}
	stop := errors.New("enough")
	for _, dir := range directories {
		err := fs.WalkDir(root.FS(), dir, func(name string, d fs.DirEntry, err error) error {
			if err != nil || name == dir {
				return skipMissing(err)
			}
			if d.IsDir() && slices.Contains(leftOut, d.Name()) {
				return fs.SkipDir
			}
			if !d.IsDir() && !d.Type().IsRegular() || sandbox.Unfinished(d.Name()) {
				return nil
			}
			info, err := d.Info()
			if err != nil {
				return skipMissing(err)
			}
			if len(t.entries) == maxFiles {
				t.partial = true
				return stop
			}
			t.add(name, entryOf(info))
			return nil
		})
		if err != nil && !errors.Is(err, stop) {
			return t, fmt.Errorf("look at the files of the thread: %w", err)
		}
	}
	return t, nil
}

// skipMissing ignores what has gone meanwhile.
func skipMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func entryOf(info fs.FileInfo) entry {
	return entry{dir: info.IsDir(), size: info.Size(), mtime: info.ModTime().UnixNano(), mode: info.Mode().Perm()}
}
