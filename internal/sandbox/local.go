package sandbox

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"deerflow/internal/filetree"
	"deerflow/internal/thread"
)

// DefaultBashTimeout is how long a command may run unless configured.
const DefaultBashTimeout = 10 * time.Minute

// localName begins the ids of sandboxes whose commands run on the host, or not at
// all.
const localName = "local"

// LocalOptions configure [NewLocal].
type LocalOptions struct {
	// Root is the directory that has one directory a user; it is made when
	// missing. A thread's files are <Root>/<user>/threads/<id>/user-data.
	Root string
	// AllowHostBash lets commands run on this host, as the user of this process.
	// The path guard in front of them is a help, not a wall.
	AllowHostBash bool
	// BashTimeout bounds a command that names no timeout of its own; 0 means
	// [DefaultBashTimeout].
	BashTimeout time.Duration
	// Mounts are shown beside the thread's own directories. One that cannot be
	// used is left out with a warning in the log.
	Mounts []Mount
	// CommandPaths are absolute directories that commands may name although no
	// mount shows them.
	CommandPaths []string
	// Environ is set in every command, beside the few variables that commands
	// get from this process.
	Environ map[string]string
	// Runner runs the commands. When it is nil, commands run on this host if
	// AllowHostBash says so, and not at all otherwise. The provider closes it.
	Runner Runner
	// Logger gets the warnings; nil means slog.Default().
	Logger *slog.Logger
}

// Local is the provider whose sandboxes are directories of this host. Its
// [Runner] decides what commands see of it.
type Local struct {
	options LocalOptions
	root    string // absolute
	mounts  []*mount
	hidden  []pair
	aliases string // directory of links for paths that a shell would split
	runner  Runner // nil: no commands
	locks   *pathLocks
	making  sync.Mutex         // of the directories of a thread
	crash   func(point string) // set by tests: the process dies here
}

var _ Provider = (*Local)(nil)

// NewLocal makes a provider. It fails when the root directory cannot be made.
func NewLocal(o LocalOptions) (*Local, error) {
	if o.Root == "" {
		return nil, errors.New("local sandbox: no root directory given")
	}
	root, err := filepath.Abs(o.Root)
	if err != nil {
		return nil, fmt.Errorf("local sandbox: root %q: %w", o.Root, err)
	}
	if err := os.MkdirAll(root, 0o700); err != nil {
		return nil, fmt.Errorf("local sandbox: make the root directory: %w", err)
	}
	if o.BashTimeout <= 0 {
		o.BashTimeout = DefaultBashTimeout
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	p := &Local{
		options: o, root: root, runner: o.Runner,
		locks: newPathLocks(), crash: func(string) {},
	}
	if p.runner == nil && o.AllowHostBash {
		p.runner = newHostShell()
	}
	for _, m := range o.Mounts {
		if err := p.addMount(m); err != nil {
			o.Logger.Warn("Mount is left out", "error", err)
		}
	}
	if p.runner != nil && !p.runner.HostPaths() {
		p.makeMountPoints()
	}
	p.hidden = []pair{{from: root, to: "[host]"}}
	if real, err := filepath.EvalSymlinks(root); err == nil && real != root {
		p.hidden = append(p.hidden, pair{from: real, to: "[host]"})
	}
	if err := p.makeAliases(); err != nil {
		return nil, err
	}
	return p, nil
}

func (p *Local) addMount(m Mount) error {
	if err := checkMount(m); err != nil {
		return err
	}
	host := filepath.Clean(m.Host)
	if info, err := os.Stat(host); err != nil {
		return fmt.Errorf("mount %q: %w", m.Virtual, err)
	} else if !info.IsDir() {
		return fmt.Errorf("mount %q: host path %q: %w", m.Virtual, m.Host, ErrNotDirectory)
	}
	p.mounts = append(p.mounts, &mount{
		virtual: path.Clean(m.Virtual), host: host, command: host, top: host, readOnly: m.ReadOnly,
	})
	return nil
}

// makeMountPoints makes the directories that mounts inside other mounts are to be
// shown at: inside, where the outer one may be read-only, it is too late.
func (p *Local) makeMountPoints() {
	for _, inner := range p.mounts {
		for _, outer := range p.mounts {
			if inner == outer || !within(inner.virtual, outer.virtual) {
				continue
			}
			point := filepath.Join(outer.host, filepath.FromSlash(strings.TrimPrefix(inner.virtual, outer.virtual)))
			if err := os.MkdirAll(point, 0o755); err != nil { //nolint:gosec // as the directories beside it
				p.options.Logger.Warn("A mount inside another one cannot be shown", "mount", inner.virtual, "error", err)
			}
		}
	}
}

// shellSafe matches paths that mean the same inside and outside quotes.
var shellSafe = regexp.MustCompile(`^[A-Za-z0-9_./@%+:,-]+$`)

// makeAliases gives directories whose path a shell would split or expand a
// second name, since commands are rewritten as text.
func (p *Local) makeAliases() error {
	alias := func(name, target string) (string, error) {
		if shellSafe.MatchString(target) {
			return target, nil
		}
		if p.aliases == "" {
			dir, err := os.MkdirTemp("", "sandbox-")
			if err != nil {
				return "", fmt.Errorf("local sandbox: make a directory for links: %w", err)
			}
			p.aliases = dir
		}
		link := filepath.Join(p.aliases, name)
		if err := os.Symlink(target, link); err != nil {
			return "", fmt.Errorf("local sandbox: link a path with special characters: %w", err)
		}
		return link, nil
	}
	link, err := alias("root", p.root)
	if err != nil {
		return err
	}
	if link != p.root {
		p.hidden = append(p.hidden, pair{from: link, to: "[host]"})
	}
	for i, m := range p.mounts {
		if m.command, err = alias("mount"+strconv.Itoa(i), m.host); err != nil {
			return err
		}
	}
	return nil
}

// commandRoot is the root in the spelling that commands use.
func (p *Local) commandRoot() string {
	if shellSafe.MatchString(p.root) {
		return p.root
	}
	return filepath.Join(p.aliases, "root")
}

// Acquire gives the sandbox "<runner>:<user>:<thread>" and makes its directories.
func (p *Local) Acquire(ctx context.Context, user, threadID string) (Sandbox, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	// It may have been removed under us (J07).
	if err := os.MkdirAll(p.root, 0o700); err != nil {
		return nil, fmt.Errorf("make the root directory of the sandboxes: %w: %w", ErrUnavailable, cause(err))
	}
	l, err := p.box(user, threadID)
	if err != nil {
		return nil, err
	}
	_, err = os.Lstat(l.userData.host)
	l.fresh = errors.Is(err, fs.ErrNotExist)
	if l.notice, err = l.makeDirectories(); err != nil {
		return nil, fmt.Errorf("sandbox of thread %s: %w", threadID, err)
	}
	return l, nil
}

func (p *Local) box(user, threadID string) (*local, error) {
	if !thread.ValidID(threadID) {
		return nil, fmt.Errorf("sandbox: thread id %.80q: must be 1 to 64 letters, digits, underscores or hyphens", threadID)
	}
	dir := path.Join(UserDir(user), "threads", threadID)
	sub := path.Join(dir, "user-data")
	data := &mount{
		virtual: UserData, host: filepath.Join(p.root, filepath.FromSlash(sub)),
		command: filepath.Join(p.commandRoot(), filepath.FromSlash(sub)), top: p.root, sub: sub,
	}
	return &local{
		provider: p, user: UserDir(user), thread: threadID, userData: data, dir: dir,
		paths: newMapping(append([]*mount{data}, p.mounts...), p.hidden),
	}, nil
}

// RunsCommands reports whether there is a runner.
func (p *Local) RunsCommands() bool { return p.runner != nil }

// Notes is what the runner says.
func (p *Local) Notes() string { return Notes(p.runner) }

// Remove deletes the directory of a thread. It is no error when there is none.
func (p *Local) Remove(ctx context.Context, user, threadID string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	l, err := p.box(user, threadID)
	if err != nil {
		return err
	}
	if p.runner != nil {
		if err := p.runner.Remove(ctx, l.user, l.thread); err != nil {
			return fmt.Errorf("remove the sandbox of thread %s: %w", threadID, err)
		}
	}
	root, err := os.OpenRoot(p.root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("remove files of thread %s: %w", threadID, cause(err))
	}
	defer func() { _ = root.Close() }()
	if err := filetree.Remove(ctx, root, l.dir); err != nil {
		return fmt.Errorf("remove files of thread %s: %w", threadID, cause(err))
	}
	return nil
}

// Close ends the commands that were left in the background and frees what the
// provider holds. Files stay.
func (p *Local) Close() error {
	var errs []error
	if p.runner != nil {
		errs = append(errs, p.runner.Close())
	}
	if p.aliases != "" {
		errs = append(errs, os.RemoveAll(p.aliases))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("close the sandboxes: %w", err)
	}
	return nil
}

// UserDir is the name of a user's directory: the user id itself when it is a
// valid one, a readable stand-in with a hash otherwise, "default" for none.
func UserDir(user string) string {
	if user == "" {
		return "default"
	}
	if thread.ValidID(user) {
		return user
	}
	clean := strings.Map(func(r rune) rune {
		if r < 0x80 && isNameByte(byte(r&0x7f)) {
			return r
		}
		return '-'
	}, user)
	sum := sha256.Sum256([]byte(user))
	return thread.Prefix(clean, 40) + "-" + hex.EncodeToString(sum[:8])
}

// local is the sandbox of one thread. It holds nothing open.
type local struct {
	provider *Local
	user     string // name of the user's directory
	thread   string
	fresh    bool   // its directories were missing
	notice   string // what Acquire has put right
	dir      string // below the provider's root, slash-separated
	userData *mount
	paths    *mapping
}

var _ Sandbox = (*local)(nil)

// ID is "<runner>:<user>:<thread>"; where no commands run it is "local".
func (l *local) ID() string {
	name := localName
	if r := l.provider.runner; r != nil {
		name = r.Name()
	}
	return name + ":" + l.user + ":" + l.thread
}

// Fresh reports whether the thread's directories were missing.
func (l *local) Fresh() bool { return l.fresh }

// Notice tells what Acquire has put right; empty for nothing.
func (l *local) Notice() string { return l.notice }

// Virtual is the clean virtual spelling of a path.
func (l *local) Virtual(p string) (string, error) {
	virtual, err := l.paths.clean(p)
	if err != nil {
		return "", pathError("resolve", p, err)
	}
	return virtual, nil
}

// Mask hides the paths of this host in a text.
func (l *local) Mask(text string) string { return l.paths.mask(text) }

func randomHex() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}
