package sandbox

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// secret is what no command may bring to light.
const secret = "sk-the-operators-own-key"

// hostFile makes a file of the host that the sandbox does not show.
func hostFile(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "secret.txt")
	require.NoError(t, os.WriteFile(file, []byte(secret), 0o600))
	return file
}

// J05: no process that a command sees has the environment of this one, and no file
// of the operator's is in its home.
func TestEscapeEnvironment(t *testing.T) {
	for _, name := range []string{"OPENAI_API_KEY", "PGPASSFILE", "SOMETHING", "LC_API_TOKEN", "http_proxy", "BASH_ENV"} {
		t.Setenv(name, secret)
	}
	t.Setenv("HOME", filepath.Dir(hostFile(t)))
	t.Setenv("TZ", "Asia/Shanghai")
	l := newWalled(t, func(_ *BubblewrapOptions, o *LocalOptions) { o.Environ = map[string]string{"MODE": "test"} })
	r, err := l.Exec(t.Context(), Command{
		Line: `env; cat /proc/[0-9]*/environ | tr '\0' '\n'; cat /proc/[0-9]*/cmdline | tr '\0' '\n'; cat ~/.netrc ~/secret.txt; ls -A ~`,
		Env:  map[string]string{"SKILL_TOKEN": "abc", "GH_TOKEN": "a-long-secret"},
	})
	require.NoError(t, err)
	require.NotContains(t, r.Stdout, secret)
	require.NotContains(t, r.Stdout, l.provider.root)
	for _, want := range []string{"SKILL_TOKEN=abc\n", "GH_TOKEN=[redacted]\n", "MODE=test\n", "TZ=Asia/Shanghai\n", "HOME=" + Workspace + "\n", "PATH=/"} {
		require.Contains(t, r.Stdout, want)
	}
	// Nothing but the command and what holds it: the host's processes are not there.
	require.Equal(t, "1\n2", run(t, l, "ls /proc | grep '^[0-9]*$' | head -2").Text())
	require.Equal(t, "(no output)", run(t, l, fmt.Sprintf("ls -d /proc/%d 2>/dev/null || true", os.Getpid())).Text())
}

// The keys that the server's session holds in the kernel are out of reach.
func TestEscapeSessionKeys(t *testing.T) {
	t.Parallel()
	walls(t, BubblewrapOptions{})
	if _, err := exec.LookPath("/usr/bin/python3"); err != nil {
		t.Skip("SKIPPED, nothing was tested: there is no python3 to ask the kernel with")
	}
	name, root := "k"+sleepMark(), filepath.Join(t.TempDir(), "users")
	const ask = `import ctypes; print("id", ctypes.CDLL(None).syscall(%d, 10, -3, b"user", b"%s", 0))`
	begun := make(chan error, 1)
	go func() { // the worker has the keyring of the thread that starts it
		runtime.LockOSThread()
		leaveSessionKeys()
		if _, err := unix.AddKey("user", name, []byte(secret), unix.KEY_SPEC_SESSION_KEYRING); err != nil {
			begun <- err
			return
		}
		line := fmt.Sprintf(ask, unix.SYS_KEYCTL, name)
		seen, err := exec.CommandContext(t.Context(), "/usr/bin/python3", "-c", line).Output()
		if err != nil || strings.HasPrefix(string(seen), "id -1") {
			begun <- fmt.Errorf("the key is not there: %s %w", seen, err)
			return
		}
		worker := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^$")
		worker.Env = append(os.Environ(), workerVariable+"="+root, workerLine+"=python3 -c '"+line+"' > told; mv told answer")
		_ = worker.Run() // it has nothing more to do and says so
		begun <- nil
	}()
	require.NoError(t, <-begun)
	answer, err := os.ReadFile(filepath.Join(root, "u1/threads/t1/user-data/workspace/answer"))
	require.NoError(t, err)
	require.Equal(t, "id -1\n", string(answer))
}

func TestEscapeRead(t *testing.T) {
	t.Parallel()
	file := hostFile(t)
	p := newWalledProvider(t, nil)
	l, other := acquire(t, p, "u1", "t1"), acquire(t, p, "u2", "t2")
	put(t, other, "secret.txt", secret)
	for _, line := range []string{
		"cat " + file, "cat /proc/1/root" + file, "cat /proc/self/cwd/../../../.." + file, "cat " + other.host(Workspace+"/secret.txt"),
		"cat /mnt/user-data/../../u2/threads/t2/user-data/workspace/secret.txt", "ln -s " + file + " l; cat l", "ln -s / r; cat r" + file,
		"cat /etc/shadow", "ls /root /home /var /opt /sys /run /boot /srv", "ls /etc/ssl/private", "cat /proc/kcore",
		"find / -name secret.txt 2>/dev/null | xargs cat", "mount --bind / /tmp", "chroot /proc/1/root cat " + file,
		"unshare -Urm true", "nsenter -t 1 -m cat " + file, "mknod d b 254 0", "debugfs -R ls /dev/vda", "dmesg",
	} {
		r := run(t, l, line)
		require.NotContains(t, r.Text(), secret, line)
		require.True(t, r.ExitCode != 0 || r.Stdout == "", "%s: %s", line, r.Text())
	}
}

func TestEscapeWrite(t *testing.T) {
	t.Parallel()
	file := hostFile(t)
	pattern, err := os.ReadFile("/proc/sys/kernel/core_pattern")
	require.NoError(t, err)
	p := newWalledProvider(t, nil)
	l, other := acquire(t, p, "u1", "t1"), acquire(t, p, "u2", "t2")
	put(t, other, "theirs.txt", "mine")
	for _, line := range []string{
		"echo gone > " + file, "rm -r " + filepath.Dir(file), "touch /usr/x", "touch /x", "touch /etc/x", "touch /dev/x", "echo x > /etc/passwd",
		"echo gone > " + other.host(Workspace+"/theirs.txt"), "touch /mnt/x", "rm -f /usr/bin/env",
		// As root of the host, who owns these files, a command could give itself the host by them.
		"echo '|/tmp/x' > /proc/sys/kernel/core_pattern", "echo 1 > /proc/sys/vm/drop_caches", "echo b > /proc/sysrq-trigger",
		"umount /proc/sys && echo x > /proc/sys/kernel/core_pattern", "mount -o remount,rw /proc/sys", "mount -t proc proc /tmp", "echo x > /proc/1/oom_score_adj && false",
		"echo x >> /proc/1/exe", "cp /usr/bin/true /proc/1/exe", // the launcher
		"date -s 2001-01-01", "hostname elsewhere", "echo x > /proc/1/root/usr/x",
	} {
		require.NotEqual(t, 0, run(t, l, line).ExitCode, line)
	}
	if os.Geteuid() == 0 {
		require.Contains(t, run(t, l, "readlink /proc/1/exe").Text(), "memfd:bwrap")
	}
	// What can be killed from inside is inside.
	require.Equal(t, "Exit Code: 137", run(t, l, "kill -9 -1 2>/dev/null; kill -9 $$").Text())
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, secret, string(data))
	require.Equal(t, "mine", get(t, other, "theirs.txt"))
	now, err := os.ReadFile("/proc/sys/kernel/core_pattern")
	require.NoError(t, err)
	require.Equal(t, string(pattern), string(now))
}

// A server of the host is out of reach, by address and by socket; one of the command
// itself is not.
func TestEscapeNetwork(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var reached atomic.Int64
	listen := func(network, address string) string {
		listener, err := net.Listen(network, address)
		require.NoError(t, err)
		t.Cleanup(func() { _ = listener.Close() })
		go func() {
			for {
				c, err := listener.Accept()
				if err != nil {
					return
				}
				reached.Add(1)
				_ = c.Close()
			}
		}()
		return listener.Addr().String()
	}
	_, port, err := net.SplitHostPort(listen("tcp", "127.0.0.1:0"))
	require.NoError(t, err)
	listen("unix", filepath.Join(dir, "socket"))
	abstract := listen("unix", "@"+filepath.Base(dir)+sleepMark())
	script := fmt.Sprintf(`exec 3<>/dev/tcp/127.0.0.1/%s && echo reached
exec 4<>/dev/tcp/1.1.1.1/53 && echo reached
if type python3; then python3 -c 'import socket,sys; socket.socket(socket.AF_UNIX).connect("\0%s"); print("reached")'; fi
if type curl; then curl -sS --max-time 5 http://127.0.0.1:%s && echo reached; fi
cat /proc/net/dev | tail -n +3 | cut -d: -f1`, port, abstract[1:], port)
	walled := newWalled(t, nil)
	require.NoError(t, os.Rename(filepath.Join(dir, "socket"), walled.host(Workspace+"/socket")))
	r := run(t, walled, script)
	require.NotContains(t, r.Stdout, "reached")
	require.Contains(t, r.Stdout, "lo")
	require.NotContains(t, r.Stdout, "eth")
	require.Zero(t, reached.Load())
	require.NoError(t, os.Remove(walled.host(Workspace+"/socket")))

	open := newWalled(t, func(b *BubblewrapOptions, _ *LocalOptions) { b.Network = true })
	require.Equal(t, "reached\n", run(t, open, fmt.Sprintf("exec 3<>/dev/tcp/127.0.0.1/%s && echo reached", port)).Stdout)
	require.Equal(t, int64(1), reached.Load())
}

// The command, or what it started, is stopped in bounded time, this process lives,
// and the next command works.
func TestEscapeForkBomb(t *testing.T) {
	for name, line := range map[string]string{
		"left behind": ":(){ :|:& };:",
		"waited for":  ":(){ :|:& };:; while :; do sleep 1; done",
		"in sessions": "b() { setsid bash -c \"$(declare -f b); b\" & setsid bash -c \"$(declare -f b); b\" & wait; }; b",
		"slow":        "while :; do sleep 600 & done",
	} {
		t.Run(name, func(t *testing.T) {
			l := newWalled(t, limited(Limits{Processes: 100}))
			before := processes()
			var most atomic.Int64
			watched := make(chan struct{})
			done := make(chan struct{})
			go func() {
				defer close(done)
				for {
					select {
					case <-watched:
						return
					case <-time.After(10 * time.Millisecond):
						most.Store(max(most.Load(), int64(processes()-before)))
					}
				}
			}()
			started := time.Now()
			r, err := l.Exec(t.Context(), Command{Line: line, Timeout: 30 * time.Second})
			close(watched)
			<-done
			require.NoError(t, err)
			t.Logf("%s, %d processes at most: %.200s", time.Since(started).Round(time.Millisecond), most.Load(), r.Text())
			require.Less(t, time.Since(started), 60*time.Second)
			if l.provider.runner.(*bubblewrap).groups != "" || os.Geteuid() != 0 {
				require.Less(t, most.Load(), int64(1000), "the kernel counts")
			}
			if name == "waited for" || name == "slow" {
				require.Equal(t, "The command was stopped: it wanted more than 100 processes.", lastLine(r.Text()))
			}
			require.Equal(t, "fine", run(t, l, "echo fine").Text())
			require.Eventually(t, func() bool { return processes() < before+50 }, 10*time.Second, 10*time.Millisecond)
		})
	}
}

func processes() int {
	found, _ := filepath.Glob("/proc/[0-9]*")
	return len(found)
}

// A command that eats memory ends; alone or in many pieces, in its processes or in
// files that are kept in memory.
func TestEscapeMemory(t *testing.T) {
	t.Parallel()
	l := newWalled(t, limited(Limits{MemoryMB: 200}))
	const eat = "x=$(head -c %dM /dev/zero | tr '\\0' a)"
	r := run(t, l, fmt.Sprintf(eat, 500)+"; echo survived")
	require.NotContains(t, r.Stdout, "survived")
	require.NotEqual(t, 0, r.ExitCode)
	r = run(t, l, "for i in 1 2 3 4 5 6; do ("+fmt.Sprintf(eat, 40)+"; sleep 100) & done; wait; echo survived")
	require.Equal(t, "The command was stopped: it used more than 200 MB of memory.", lastLine(r.Text()))
	require.Equal(t, "fits", run(t, l, fmt.Sprintf(eat, 20)+"; echo fits").Text())
	r = run(t, l, "head -c 1G /dev/zero > /tmp/x || head -c 1G /dev/zero > /dev/shm/x || echo full")
	require.Equal(t, "full\n", r.Stdout)
}

func TestEscapeTimeAndFileSize(t *testing.T) {
	t.Parallel()
	l := newWalled(t, limited(Limits{CPUSeconds: 1, FileMB: 1}))
	started := time.Now()
	require.Equal(t, "The command was stopped: a process used more than 1 seconds of processor time.", lastLine(run(t, l, "while :; do :; done").Text()))
	require.Less(t, time.Since(started), time.Minute)
	require.Equal(t, "The command was stopped: a file grew over 1 MB.", lastLine(run(t, l, "exec head -c 2000000 /dev/zero > big").Text()))
	info, err := l.Stat(t.Context(), "big")
	require.NoError(t, err)
	require.Equal(t, int64(1<<20), info.Size)
}

func lastLine(text string) string { return text[strings.LastIndexByte(text, '\n')+1:] }

// 2 GB of output: 10 MiB are kept, and no more memory is used for the rest.
func TestEscapeOutput(t *testing.T) {
	l := newWalled(t, nil)
	const size = 2_000_000_000
	var before, peak runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		r, err := l.Exec(t.Context(), Command{Line: fmt.Sprintf("head -c %d /dev/zero | tr '\\0' x", size), Timeout: 5 * time.Minute})
		if err != nil || !strings.HasSuffix(r.Stdout, fmt.Sprintf("%d more bytes were dropped]", size-maxCapture)) {
			t.Errorf("%v: %d bytes of output", err, len(r.Stdout))
		}
	}()
	for running := true; running; {
		select {
		case <-ended:
			running = false
		case <-time.After(20 * time.Millisecond):
		}
		var now runtime.MemStats
		runtime.ReadMemStats(&now)
		if now.HeapInuse > peak.HeapInuse {
			peak = now
		}
	}
	require.Less(t, int64(peak.HeapInuse)-int64(before.HeapInuse), int64(150<<20))
}

// I02: while a command swaps links under them, the tools read and write nothing that
// the sandbox does not show.
func TestI02SwapsByACommand(t *testing.T) {
	t.Parallel()
	file := hostFile(t)
	l := newWalled(t, nil)
	put(t, l, "real/secret.txt", "inside")
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, err := l.Exec(t.Context(), Command{Timeout: time.Minute, Line: fmt.Sprintf(`
ln -s %s hard; ln -sfn real dir; touch ready
until [ -e stop ]; do
  ln -sfn %[2]s dir; ln -sfn real dir; ln -sfn /proc/self/root%[2]s dir; rm dir; cp -r real dir; rm -r dir; ln -sfn ../../../../../../../../..%[2]s dir
done`, file, filepath.Dir(file))})
		if err != nil {
			t.Error(err)
		}
	}()
	require.Eventually(t, func() bool { _, err := l.Stat(t.Context(), "ready"); return err == nil }, 20*time.Second, 5*time.Millisecond)
	for deadline := time.Now().Add(2 * time.Second); time.Now().Before(deadline); {
		if r, err := l.ReadFile(t.Context(), "dir/secret.txt", ReadOptions{}); err == nil {
			require.NotContains(t, r.Text, secret)
		}
		_, _ = l.WriteFile(t.Context(), "dir/secret.txt", strings.NewReader("inside"), WriteOptions{})
		_, _ = l.WriteFile(t.Context(), "dir/made.txt", strings.NewReader("inside"), WriteOptions{})
		if g, err := l.Grep(t.Context(), ".", GrepOptions{Pattern: "operators"}); err == nil {
			require.Empty(t, g.Matches)
		}
	}
	put(t, l, "stop", "")
	<-done
	_, err := l.ReadFile(t.Context(), "hard", ReadOptions{})
	require.Error(t, err)
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, secret, string(data))
	require.NoFileExists(t, filepath.Join(filepath.Dir(file), "made.txt"))
}

// The directories of a thread cannot be replaced by something that the next command
// is shown instead.
func TestEscapeByTheNextCommand(t *testing.T) {
	t.Parallel()
	file := hostFile(t)
	l := newWalled(t, nil)
	run(t, l, "cd /mnt/user-data && rm -r workspace && ln -s "+filepath.Dir(file)+" workspace")
	r := run(t, l, "ls -A; cat secret.txt ../workspace.replaced-1/secret.txt")
	require.Empty(t, r.Stdout)
	require.Contains(t, r.Stderr, "No such file or directory")
	for _, name := range []string{"secret.txt", UserData + "/workspace.replaced-1/secret.txt"} {
		_, err := l.ReadFile(t.Context(), name, ReadOptions{})
		require.Error(t, err)
	}
	require.NoError(t, os.Remove(l.host(Workspace)))
	require.Equal(t, Workspace, run(t, l, "pwd").Text())
}

// What this process was started with, such as a directory that a shell had open, does
// not reach commands, walled in or not.
func TestInheritedDescriptor(t *testing.T) {
	t.Parallel()
	for _, walled := range []bool{true, false} {
		t.Run(fmt.Sprint("walled ", walled), func(t *testing.T) {
			l := newBox(t, nil)
			if walled {
				l = newWalled(t, nil)
			}
			dir := t.TempDir()
			fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY, 0) // not closed on exec
			require.NoError(t, err)
			defer func() { _ = unix.Close(fd) }()
			high, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD, 200) // above those that the launcher is given
			require.NoError(t, err)
			defer func() { _ = unix.Close(high) }()
			r := run(t, l, fmt.Sprintf("python3 -c 'import os; print(os.open(\"made\", os.O_CREAT | os.O_WRONLY, dir_fd=%d))'", high))
			require.Contains(t, r.Text(), "Bad file descriptor")
			require.NoFileExists(t, filepath.Join(dir, "made"))
		})
	}
}

func TestWalledReplacedDirectory(t *testing.T) {
	t.Parallel()
	testReplacedByCommand(t, newWalled(t, nil))
}
