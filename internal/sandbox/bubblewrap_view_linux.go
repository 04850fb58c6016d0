package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// sandboxUser is the user inside; outside it is the user of this process, so that
// tools and commands own the same files.
const (
	sandboxUser = "sandbox"
	sandboxUID  = 1000
)

// tmpBytes bounds a file system in memory.
const tmpBytes = 512 << 20

// topDirs are shown beside /usr: links into it on most systems.
var topDirs = []string{"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"}

// etcPaths is all of /etc that programs need, beside what [newEtcFiles] makes.
// /etc/ssl/private, /etc/shadow and what else may hold secrets is not shown: the user
// of this process may be root.
var etcPaths = []string{
	"/etc/alternatives", "/etc/crypto-policies", "/etc/fonts", "/etc/java*", "/etc/ld.so.cache", "/etc/localtime",
	"/etc/os-release", "/etc/pki/ca-trust", "/etc/pki/tls/cert.pem", "/etc/pki/tls/certs", "/etc/ssl/cert.pem",
	"/etc/ssl/certs", "/etc/texmf", "/etc/ImageMagick*", "/etc/libreoffice", "/etc/R",
}

// etcCopies are small files of /etc that seldom change: a copy costs less than a
// mount.
var etcCopies = []string{
	"/etc/mime.types", "/etc/nsswitch.conf", "/etc/pki/tls/openssl.cnf", "/etc/ssl/openssl.cnf", "/etc/timezone",
}

// netPaths are shown with the network of the host.
var netPaths = []string{"/etc/gai.conf", "/etc/hosts", "/etc/resolv.conf"}

// procPaths would let the owner of a file in /proc, which is root, write to the
// kernel: bubblewrap itself leaves /proc/sys open to root.
var procPaths = []string{"/proc/acpi", "/proc/fs", "/proc/scsi", "/proc/sys", "/proc/sysrq-trigger"}

// procSecrets tell root about the host or about its memory.
var procSecrets = []string{"/proc/keys", "/proc/kpagecgroup", "/proc/kpagecount", "/proc/kpageflags", "/proc/timer_list"}

// systemArgs are the arguments that make the namespaces and show the system. help
// is what bwrap says about itself: older ones know less.
func systemArgs(o BubblewrapOptions, help string) []string {
	args := []string{
		"--unshare-user", "--uid", strconv.Itoa(sandboxUID), "--gid", strconv.Itoa(sandboxUID),
		"--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try",
		"--hostname", sandboxUser, "--new-session", "--die-with-parent",
	}
	if strings.Contains(help, "--disable-userns") {
		args = append(args, "--disable-userns")
	}
	if !o.Network {
		args = append(args, "--unshare-net")
	}
	tmpfs := func(dir string) {
		if strings.Contains(help, "--size ") {
			args = append(args, "--size", strconv.Itoa(tmpBytes))
		}
		args = append(args, "--tmpfs", dir)
	}
	args = append(args, "--ro-bind", "/usr", "/usr")
	for _, dir := range topDirs {
		args = append(args, show(dir)...)
	}
	args = append(args, "--proc", "/proc")
	if os.Geteuid() == 0 {
		for _, p := range existing(procPaths) {
			args = append(args, "--ro-bind", p, p)
		}
		for _, p := range existing(procSecrets) {
			args = append(args, "--ro-bind", "/dev/null", p)
		}
	}
	args = append(args, "--dev", "/dev")
	tmpfs("/dev/shm")
	args = append(args, "--remount-ro", "/dev")
	tmpfs("/tmp")
	paths := etcPaths
	if o.Network {
		paths = append(paths[:len(paths):len(paths)], netPaths...)
	}
	for _, p := range existing(paths) {
		args = append(args, show(p)...)
	}
	for _, p := range o.Hide {
		args = append(args, hide(p)...)
	}
	return args
}

// existing expands patterns to the files that are there.
func existing(patterns []string) []string {
	var paths []string
	for _, p := range patterns {
		found, err := filepath.Glob(p)
		if err == nil {
			paths = append(paths, found...)
		}
	}
	return paths
}

// show shows a path; a link into /usr as one, which costs no mount.
func show(p string) []string {
	target, err := os.Readlink(p)
	if err == nil && within(filepath.Join(filepath.Dir(p), target), "/usr") || strings.HasPrefix(target, "/usr/") {
		return []string{"--symlink", target, p}
	}
	if _, err := os.Stat(p); err != nil {
		return nil
	}
	return []string{"--ro-bind", p, p}
}

// hide covers a path that would be seen.
func hide(p string) []string {
	real, err := filepath.Abs(p)
	if err == nil {
		real, err = filepath.EvalSymlinks(real)
	}
	if p == "" || err != nil || !shown(real, nil) {
		return nil
	}
	if info, err := os.Stat(real); err == nil && info.IsDir() {
		return []string{"--tmpfs", real}
	}
	return []string{"--ro-bind", "/dev/null", real}
}

// mountArgs show the files of a thread and end the view: nothing can be made
// outside of what is shown.
func mountArgs(j Job) []string {
	var args []string
	for _, m := range j.Mounts {
		how := "--bind"
		if m.ReadOnly {
			how = "--ro-bind"
		}
		if m.Virtual != UserData {
			how += "-try" // of an operator: it was there when the provider was made
		}
		args = append(args, how, m.Host, m.Virtual)
	}
	return append(args, "--chdir", j.Dir, "--remount-ro", "/")
}

// newEtcFiles are files of /etc that are made for the sandbox: path to content.
func newEtcFiles(network bool) map[string]string {
	files := map[string]string{
		"/etc/passwd": fmt.Sprintf("root:x:0:0:root:/root:/bin/sh\n%[1]s:x:%[2]d:%[2]d:%[1]s:%[3]s:/bin/bash\nnobody:x:65534:65534:nobody:/nonexistent:/bin/false\n",
			sandboxUser, sandboxUID, Workspace),
		"/etc/group": fmt.Sprintf("root:x:0:\n%[1]s:x:%[2]d:\nnogroup:x:65534:\n", sandboxUser, sandboxUID),
	}
	if !network {
		files["/etc/hosts"] = "127.0.0.1 localhost " + sandboxUser + "\n::1 localhost\n"
	}
	for _, name := range etcCopies {
		if data, err := os.ReadFile(name); err == nil { //nolint:gosec // one of the list
			files[name] = string(data)
		}
	}
	return files
}
