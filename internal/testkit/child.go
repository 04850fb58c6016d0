package testkit

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// child is a started process. It dies with this one, even if this one is
// killed, where the system can do that.
type child struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when the process has been waited for
}

// startChild starts cmd. The parent-death signal is sent when the *thread*
// that started the process ends, so one thread is kept for it until the
// process is gone.
func startChild(cmd *exec.Cmd) (*child, error) {
	cmd.SysProcAttr = dieWithParent()
	c := &child{cmd: cmd, done: make(chan struct{})}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err != nil {
			return
		}
		_ = cmd.Wait() // the outcome stands in cmd.ProcessState
		close(c.done)
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return c, nil
}

// kill sends SIGKILL to the process itself and waits until it is gone.
func (c *child) kill() {
	_ = c.cmd.Process.Kill() // fails only when it has ended already
	<-c.done
}

// exitCode is only to be asked after done; -1 means ended by a signal.
func (c *child) exitCode() int {
	return c.cmd.ProcessState.ExitCode()
}

// childEnv is the environment of a process under test: what a program needs to
// run at all, a home of its own, and nothing that could configure the product
// from outside. What takes seconds to compile, the engine that reads PDFs, is
// kept for all of them. Entries of extra ("KEY=value") come last and win.
func childEnv(home string, extra []string) []string {
	keep := []string{
		"PATH", "TMPDIR", "TZ", "LANG", "LC_ALL", "USER", "LOGNAME",
		"SSL_CERT_FILE", "SSL_CERT_DIR", "GOCOVERDIR", "GORACE",
	}
	env := []string{"HOME=" + home}
	if cache, err := os.UserCacheDir(); err == nil {
		env = append(env, "XDG_CACHE_HOME="+filepath.Join(cache, "deerflow-testkit"))
	}
	for _, entry := range os.Environ() {
		if name, _, _ := strings.Cut(entry, "="); slices.Contains(keep, name) {
			env = append(env, entry)
		}
	}
	return append(env, extra...)
}

// tail returns the end of the file at path, for a failure report.
func tail(path string) string {
	const limit = 64 << 10
	data, err := os.ReadFile(filepath.Clean(path))
	if err != nil {
		return "(" + err.Error() + ")"
	}
	if len(data) > limit {
		return "[...]" + string(data[len(data)-limit:])
	}
	return string(data)
}
