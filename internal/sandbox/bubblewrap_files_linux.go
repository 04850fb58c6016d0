package sandbox

import (
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// launchFiles are the pipes and files between this process and one launcher.
type launchFiles struct {
	passed  []*os.File // what the launcher gets, from descriptor 3 on
	args    *os.File   // of passed: its arguments, so that the command cannot read them as /proc/1/cmdline
	status  *os.File   // what it tells of the command
	release *os.File   // closed to let the command begin
}

// firstPassed is the descriptor of the first file that a process is given beside
// its standard ones.
const firstPassed = 3

// openFiles makes what a launcher is given.
func (b *bubblewrap) openFiles(j Job) (*launchFiles, error) {
	f := &launchFiles{}
	statusEnd, err := f.pass(func(r, w *os.File) { f.status, f.passed = r, append(f.passed, w) })
	if err != nil {
		return nil, err
	}
	gate, err := f.pass(func(r, w *os.File) { f.release, f.passed = w, append(f.passed, r) })
	if err != nil {
		return nil, err
	}
	args := append(slices.Clone(b.system), "--json-status-fd", statusEnd, "--block-fd", gate)
	for _, name := range slices.Sorted(maps.Keys(b.etc)) {
		n, err := f.content(b.etc[name])
		if err != nil {
			return nil, err
		}
		args = append(args, "--file", n, name)
	}
	args = append(args, mountArgs(j)...)
	if _, err := f.content(strings.Join(args, "\x00") + "\x00"); err != nil {
		return nil, err
	}
	f.args = f.passed[len(f.passed)-1]
	return f, nil
}

// pass makes a pipe of which the launcher gets one end, and gives its number there.
func (f *launchFiles) pass(keep func(r, w *os.File)) (string, error) {
	r, w, err := os.Pipe()
	if err != nil {
		f.close()
		return "", fmt.Errorf("make a pipe: %w", err)
	}
	keep(r, w)
	return f.number(f.passed[len(f.passed)-1]), nil
}

// content makes a file in memory that holds a text, for the launcher to read.
func (f *launchFiles) content(text string) (string, error) {
	fd, err := unix.MemfdCreate("sandbox", unix.MFD_CLOEXEC)
	if err != nil {
		f.close()
		return "", fmt.Errorf("make a file in memory: %w", err)
	}
	file := os.NewFile(uintptr(fd), "sandbox")
	f.passed = append(f.passed, file)
	_, err = file.WriteString(text)
	if err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	if err != nil {
		f.close()
		return "", fmt.Errorf("fill a file in memory: %w", err)
	}
	return f.number(file), nil
}

// number is the descriptor of a passed file in the launcher.
func (f *launchFiles) number(file *os.File) string {
	return strconv.Itoa(firstPassed + slices.Index(f.passed, file))
}

// closePassed closes the launcher's ends here, once it has them.
func (f *launchFiles) closePassed() {
	for _, file := range f.passed {
		_ = file.Close()
	}
}

func (f *launchFiles) close() {
	f.closePassed()
	for _, file := range []*os.File{f.status, f.release} {
		if file != nil {
			_ = file.Close()
		}
	}
}
