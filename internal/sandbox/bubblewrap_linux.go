package sandbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// probeTimeout is how long the first command may take.
const probeTimeout = 10 * time.Second

// bubblewrap runs every command in namespaces of its own.
type bubblewrap struct {
	options BubblewrapOptions
	program string
	sealed  *os.File // holds program for root; nil for others
	shell   string
	system  []string          // arguments that show the system, the same for every command
	etc     map[string]string // files of /etc that are made for it
	groups  string            // where control groups are made; empty for nowhere
	jobs    *jobs
}

var _ Runner = (*bubblewrap)(nil)

// NewBubblewrap makes the runner that walls commands in by bwrap: namespaces of
// their own for users, mounts, processes, messages, host name, control groups and,
// unless it is shared, the network. It runs a command to see whether that works on
// this host; the error says why it does not.
func NewBubblewrap(ctx context.Context, o BubblewrapOptions) (Runner, error) {
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	program, err := exec.LookPath("bwrap")
	if err != nil {
		return nil, errors.New("bubblewrap: there is no program bwrap on the PATH (package bubblewrap)")
	}
	help, err := exec.CommandContext(ctx, program, "--help").CombinedOutput() //nolint:gosec // found on the PATH
	if err != nil {
		return nil, fmt.Errorf("bubblewrap: %s --help: %w", program, err)
	}
	b := &bubblewrap{
		options: o, program: program, shell: findShell(), jobs: newJobs(),
		system: systemArgs(o, string(help)), etc: newEtcFiles(o.Network),
	}
	if os.Geteuid() == 0 {
		if b.sealed, err = sealedCopy(program); err != nil {
			return nil, fmt.Errorf("bubblewrap: %w", err)
		}
		b.program = fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), b.sealed.Fd())
		if own, err := os.ReadFile("/proc/self/cgroup"); err == nil {
			b.groups = pidsParent(cgroupRoot, string(own), groupsCount)
		}
	}
	if err := b.probe(ctx); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

// probe runs a command with all that a real one has, but for the files.
func (b *bubblewrap) probe(ctx context.Context) error {
	const code = 42
	r, err := b.Run(ctx, Job{Line: fmt.Sprint("exit ", code), Dir: "/", Timeout: probeTimeout})
	switch {
	case err != nil:
		return err
	case r.TimedOut:
		return fmt.Errorf("bubblewrap: a first command did not end within %s", probeTimeout)
	case r.ExitCode != code:
		return fmt.Errorf("bubblewrap: a first command ended with %d instead of %d: %s", r.ExitCode, code, strings.TrimSpace(r.Stderr))
	}
	return nil
}

// Name is "bubblewrap".
func (*bubblewrap) Name() string { return bubblewrapName }

// HostPaths is false: the mounts are where they claim to be.
func (*bubblewrap) HostPaths() bool { return false }

// Notes say what is missing.
func (b *bubblewrap) Notes() string {
	notes := "- Commands are walled in: only `/mnt/user-data`, and what the operator shows beside it, can be written. `/tmp` is empty at the start of each.\n" +
		"- What a command leaves in the background ends with it: use a server in the command that starts it."
	if !b.options.Network {
		notes += "\n- Commands have no network: nothing can be downloaded or installed from there."
	}
	return notes
}

// Run runs a command with bash in namespaces of its own. When the context ends or
// the time is up, the command gets TERM, and everything in the namespace of
// processes KILL 100 ms later. What is left when the shell has ended, whatever it
// did to get away, ends with it. When this process dies, all of it dies too.
func (b *bubblewrap) Run(ctx context.Context, j Job) (ExecResult, error) {
	files, err := b.openFiles(j)
	if err != nil {
		return ExecResult{}, fmt.Errorf("bubblewrap: %w", err)
	}
	defer files.close()
	w := newWarden(b.options.Limits, b.groups, files)

	// The context ends the namespace below, not the launcher.
	cmd := exec.CommandContext(context.WithoutCancel(ctx), b.program, //nolint:gosec // running it is the point
		"--args", files.number(files.args), "--", b.shell, "-c", j.Line)
	cmd.ExtraFiles = files.passed
	// Inside, /proc/1/environ is that of the launcher.
	cmd.Env = b.environ(j)
	cmd.Dir = "/"
	cmd.SysProcAttr = processAttributes()
	r, err := b.jobs.run(ctx, cmd, j.Timeout, control{
		thread: leaveSessionKeys,
		begun:  func() { files.closePassed(); w.watch() },
		stop:   w.stop,
		end:    func(ended <-chan struct{}) { w.end(cmd.Process.Pid, ended) },
		over:   w.over,
	})
	switch {
	case w.breach != "":
		r.Notice = w.breach
	case w.err != nil:
		return ExecResult{}, fmt.Errorf("bubblewrap: %w", w.err)
	case err == nil && !r.TimedOut && !w.ran:
		return ExecResult{}, fmt.Errorf("bubblewrap: %s", strings.TrimSpace(r.Stderr))
	default:
		r.Notice = b.options.Limits.notice(r.ExitCode)
	}
	return r, err
}

// leaveSessionKeys gives the thread a keyring of its own: the keys of the user's session
// are not the command's. Where the kernel has no keys there is nothing to leave.
func leaveSessionKeys() {
	_, _, _ = unix.Syscall(unix.SYS_KEYCTL, unix.KEYCTL_JOIN_SESSION_KEYRING, 0, 0)
}

// Remove does nothing: no command is left when its call has ended.
func (*bubblewrap) Remove(context.Context, string, string) error { return nil }

// Close frees what the runner holds.
func (b *bubblewrap) Close() error {
	b.jobs.close()
	if b.sealed == nil {
		return nil
	}
	if err := b.sealed.Close(); !errors.Is(err, os.ErrClosed) {
		return err
	}
	return nil
}

// environ is the whole environment of a command, and of its launcher.
func (b *bubblewrap) environ(j Job) []string {
	env := map[string]string{
		"TERM": "dumb", "LANG": "C.UTF-8", "PATH": b.searchPath(j.Mounts), "HOME": j.Dir, "PWD": j.Dir, "SHELL": b.shell,
		"TMPDIR": "/tmp", "USER": sandboxUser, "LOGNAME": sandboxUser,
	}
	for _, entry := range os.Environ() {
		name, value, _ := strings.Cut(entry, "=")
		switch name {
		case "LANG", "LANGUAGE", "TZ":
		case "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy":
			if !b.options.Network || hasPassword(value) {
				continue
			}
		default:
			if !strings.HasPrefix(name, "LC_") || secretName(name) {
				continue
			}
		}
		env[name] = value
	}
	for name, value := range j.Env {
		env[name] = value
	}
	return entries(env)
}

// searchPath is what this process searches for programs, as far as commands see
// it.
func (b *bubblewrap) searchPath(mounts []Mount) string {
	const usual = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
	var dirs []string
	for _, dir := range strings.Split(os.Getenv("PATH")+":"+usual, ":") {
		seen := false
		for _, d := range dirs {
			seen = seen || d == dir
		}
		if !seen && shown(dir, mounts) {
			dirs = append(dirs, dir)
		}
	}
	return strings.Join(dirs, ":")
}

// shown reports whether commands see a directory.
func shown(dir string, mounts []Mount) bool {
	for _, top := range append([]string{"/usr"}, topDirs...) {
		if within(dir, top) {
			return true
		}
	}
	for _, m := range mounts {
		if within(dir, m.Virtual) {
			return true
		}
	}
	return false
}
