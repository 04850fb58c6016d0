package sandbox

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// alive reports whether a process runs; a zombie does not.
func alive(pid string) bool {
	data, err := os.ReadFile(filepath.Join("/proc", pid, "stat"))
	if err != nil {
		return false
	}
	state := strings.TrimSpace(string(data[strings.LastIndexByte(string(data), ')')+1:]))
	return !strings.HasPrefix(state, "Z") && !strings.HasPrefix(state, "X")
}

// A worker that is killed takes its shell with it; what the shell had started is
// found and ended at the next start, and nothing else is.
func TestEndStrays(t *testing.T) {
	t.Parallel()
	root := filepath.Join(t.TempDir(), "users")
	worker := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^$")
	worker.Env = append(os.Environ(), workerVariable+"="+root)
	out, err := worker.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, worker.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	pids := strings.Fields(line)
	require.Len(t, pids, 2)
	shell, child := pids[0], pids[1]

	p := newLocal(t, nil)
	l := acquire(t, p, "u1", "t1")
	own := strings.TrimSpace(run(t, l, "sleep 600 > /dev/null 2>&1 & echo $!").Stdout)
	EndStrays()
	require.True(t, alive(shell), "its worker lives")
	require.True(t, alive(child))

	require.NoError(t, worker.Process.Signal(syscall.SIGKILL))
	require.Error(t, worker.Wait())
	require.Eventually(t, func() bool { return !alive(shell) }, 5*time.Second, 5*time.Millisecond, "parent-death signal")
	require.Eventually(t, func() bool {
		EndStrays()
		return !alive(child)
	}, 5*time.Second, 10*time.Millisecond)
	require.True(t, alive(own))
	require.NoError(t, p.Close())
	require.Eventually(t, func() bool { return !alive(own) }, 5*time.Second, 5*time.Millisecond)
}

// The parent-death signal comes with the end of a thread: threads that end while
// a command runs, which Go makes when a goroutine ends locked, do not kill it.
func TestCommandOutlivesThreads(t *testing.T) {
	t.Parallel()
	l := newBox(t, nil)
	stop := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			default:
			}
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
			}()
			<-ended
		}
	}()
	for range 5 {
		require.Equal(t, "alive", run(t, l, "sleep 0.1; echo alive").Text())
	}
	close(stop)
	<-done
}

func TestStartTime(t *testing.T) {
	t.Parallel()
	require.NotEmpty(t, startTime(os.Getpid()))
	require.NotEqual(t, startTime(1), startTime(os.Getpid()))
	require.Empty(t, startTime(1<<30))
	owner, ok := ownerOf("/proc/1/nothing")
	require.False(t, ok)
	require.Empty(t, owner)
}
