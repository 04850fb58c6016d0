package testkit

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Proc is a process as /proc shows it.
type Proc struct {
	Pid, Parent, Group, Session int
	State                       string // one letter; Z is one that has ended
	Args                        []string
}

// Live lists the processes that match, without those that have ended and wait to
// be reaped: these still answer to signals.
func Live(match func(Proc) bool) []Proc {
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return nil
	}
	var found []Proc
	for _, dir := range dirs {
		if p, ok := readProc(dir); ok && p.State != "Z" && p.State != "X" && match(p) {
			found = append(found, p)
		}
	}
	return found
}

// Running matches processes with exactly these arguments.
func Running(args ...string) func(Proc) bool {
	want := strings.Join(args, "\x00")
	return func(p Proc) bool { return strings.Join(p.Args, "\x00") == want }
}

// InGroup matches the processes of a group.
func InGroup(group int) func(Proc) bool {
	return func(p Proc) bool { return p.Group == group }
}

func readProc(dir string) (Proc, bool) {
	stat, err := os.ReadFile(filepath.Join(dir, "stat"))
	if err != nil {
		return Proc{}, false
	}
	args, err := os.ReadFile(filepath.Join(dir, "cmdline"))
	if err != nil {
		return Proc{}, false
	}
	// The name may hold spaces and parentheses; the fields behind it do not.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	const needed = 4
	if len(fields) < needed {
		return Proc{}, false
	}
	p := Proc{State: fields[0]}
	p.Pid, _ = strconv.Atoi(filepath.Base(dir))
	p.Parent, _ = strconv.Atoi(fields[1])
	p.Group, _ = strconv.Atoi(fields[2])
	p.Session, _ = strconv.Atoi(fields[3])
	if text := strings.TrimSuffix(string(args), "\x00"); text != "" {
		p.Args = strings.Split(text, "\x00")
	}
	return p, true
}
