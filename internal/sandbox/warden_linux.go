package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// mostFull is how often a namespace may be found full before it is ended.
const mostFull = 40

// cpuGrace is how long a process may go on that was told that its processor time
// is used up, in seconds.
const cpuGrace = 2

// watchPause is how often a namespace is looked at.
const watchPause = 25 * time.Millisecond

// warden keeps one command that bubblewrap walls in: it sets the limits before the
// command begins, watches those that the kernel does not, and ends all of it.
type warden struct {
	limits Limits
	groups string // where control groups of processes are made; empty for nowhere
	files  *launchFiles
	stop   chan struct{} // closed when a limit that is watched is passed
	gone   chan struct{} // closed when the command is over
	done   sync.WaitGroup

	mu     sync.Mutex
	called bool   // the command is to end: it must not begin any more
	init   int    // first process of the namespace; 0 when it is not known
	fd     int    // its descriptor; -1 for none
	group  string // its control group; empty for none
	breach string // which watched limit was passed

	// To be read after over.
	ran bool  // the command was begun: the launcher did its part
	err error // why it was not let begin
}

func newWarden(l Limits, groups string, f *launchFiles) *warden {
	return &warden{limits: l, groups: groups, files: f, stop: make(chan struct{}), gone: make(chan struct{}), fd: -1}
}

// watch takes what the launcher tells.
func (w *warden) watch() {
	w.done.Go(func() {
		// What the launcher writes, and only when the command was begun the last.
		d := json.NewDecoder(w.files.status)
		for {
			var told struct {
				Child int  `json:"child-pid"`
				Exit  *int `json:"exit-code"`
			}
			if d.Decode(&told) != nil {
				return
			}
			if told.Child > 0 {
				w.take(told.Child)
			}
			w.ran = w.ran || told.Exit != nil
		}
	})
}

// take takes charge of the first process of a namespace, which waits for the gate.
func (w *warden) take(pid int) {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return // it has gone already; the gate stays shut
	}
	w.mu.Lock()
	w.init, w.fd = pid, fd
	called := w.called
	w.mu.Unlock()
	if called {
		w.kill()
		return
	}
	err = setLimits(pid, w.limits)
	if err == nil && w.groups != "" && w.limits.Processes > 0 {
		err = w.joinNewGroup(pid)
	}
	if err != nil {
		w.err = fmt.Errorf("set the limits of a command: %w", err)
		w.kill()
		return
	}
	w.done.Go(func() { w.patrol(pid) })
	_ = w.files.release.Close()
}

// joinNewGroup puts the first process into a control group of the command.
func (w *warden) joinNewGroup(pid int) error {
	group, err := newPidsGroup(w.groups, w.limits.Processes)
	if err != nil {
		return err
	}
	w.mu.Lock()
	w.group = group
	w.mu.Unlock()
	return joinGroup(group, pid)
}

// setLimits sets what the kernel counts. They hold for all that the process
// starts.
func setLimits(pid int, l Limits) error {
	for _, limit := range []struct{ resource, value int }{
		{unix.RLIMIT_CORE, 0}, // a core would be handed to a program of the host
		{unix.RLIMIT_CPU, l.CPUSeconds},
		{unix.RLIMIT_DATA, l.MemoryMB << 20},
		{unix.RLIMIT_NPROC, l.Processes}, // not for root
		{unix.RLIMIT_FSIZE, l.FileMB << 20},
	} {
		if limit.value <= 0 && limit.resource != unix.RLIMIT_CORE {
			continue
		}
		var now unix.Rlimit
		if err := unix.Prlimit(pid, limit.resource, nil, &now); err != nil {
			return err
		}
		soft := min(uint64(limit.value), now.Max) //nolint:gosec // not negative
		hard := soft
		if limit.resource == unix.RLIMIT_CPU {
			hard = min(soft+cpuGrace, now.Max) // at the hard limit there is no signal that tells why
		}
		if err := unix.Prlimit(pid, limit.resource, &unix.Rlimit{Cur: soft, Max: hard}, nil); err != nil {
			return err
		}
	}
	// When this host runs out of memory, a command ends and not this process.
	_ = os.WriteFile(fmt.Sprintf("/proc/%d/oom_score_adj", pid), []byte("500"), 0)
	return nil
}

// patrol watches the sum over all processes of the namespace. One that stays at the
// limit of processes is full of those that wait to start more.
func (w *warden) patrol(pid int) {
	proc := fmt.Sprintf("/proc/%d/root/proc", pid)
	tick := time.NewTicker(watchPause)
	defer tick.Stop()
	full := 0
	for {
		select {
		case <-w.gone:
			return
		case <-tick.C:
		}
		u := countUse(proc, w.limits.Processes)
		if full = max(full-1, 0); w.limits.Processes > 0 && u.processes >= w.limits.Processes-1 {
			full += 2
		}
		if reason := w.limits.exceeded(u, full >= mostFull); reason != "" {
			w.mu.Lock()
			w.breach = reason
			w.mu.Unlock()
			w.kill()
			close(w.stop)
			return
		}
	}
}

// kill ends every process of the namespace. The kernel does it, so none gets away.
func (w *warden) kill() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.fd >= 0 {
		_ = unix.PidfdSendSignal(w.fd, unix.SIGKILL, nil, 0)
	}
}

// end ends the command of a launcher before its time. What has not begun yet ends with
// the launcher.
func (w *warden) end(launcher int, ended <-chan struct{}) {
	w.mu.Lock()
	pid, breach := w.init, w.breach
	w.called = true
	w.mu.Unlock()
	if pid > 0 && breach == "" {
		// The first process leads the group that the command begins in, and is deaf to it.
		_ = unix.Kill(-pid, unix.SIGTERM)
		if waitFor(ended, killDelay) {
			return
		}
	}
	w.kill()
	if pid > 0 && waitFor(ended, time.Second) {
		return
	}
	_ = unix.Kill(-launcher, unix.SIGKILL)
	waitFor(ended, time.Second)
}

func waitFor(ended <-chan struct{}, limit time.Duration) bool {
	select {
	case <-ended:
		return true
	case <-time.After(limit):
		return false
	}
}

// over ends what the command has left and waits until it is gone.
func (w *warden) over() {
	w.kill()
	close(w.gone)
	_ = w.files.status.SetReadDeadline(time.Now().Add(pipeGrace))
	w.done.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.fd < 0 {
		return
	}
	awaitExit(w.fd, time.Second)
	_ = unix.Close(w.fd)
	w.fd = -1
	for range 100 { // the last process has ended, but may still be counted
		if w.group == "" || os.Remove(w.group) == nil {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// awaitExit waits for a process to end, and takes it away if it has become a child
// of this one, which happens when this is the first process of a container.
func awaitExit(fd int, limit time.Duration) {
	deadline := time.Now().Add(limit)
	for {
		left := time.Until(deadline)
		if left <= 0 {
			return
		}
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(left/time.Millisecond)+1) //nolint:gosec // a descriptor
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if n > 0 {
			_ = unix.Waitid(unix.P_PIDFD, fd, nil, unix.WEXITED|unix.WNOHANG, nil)
		}
		return
	}
}
