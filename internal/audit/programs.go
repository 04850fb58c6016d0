package audit

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

var (
	shell        = regexp.MustCompile(`^(?:(?:ba|da|k|z|fi)?sh|\$\{?SHELL\}?)$`)
	interpreters = regexp.MustCompile(`^(?:python[\d.]*|perl|ruby|node|php)$`)
	duration     = regexp.MustCompile(`^\d+(?:\.\d+)?[smhd]?$`)
	assignment   = regexp.MustCompile(`^[A-Za-z_]\w*=`)
)

// wrappers are programs that run the command that follows, with the flags that
// take a value.
var wrappers = map[string][]string{
	"env": {"-u", "-C"}, "command": nil, "builtin": nil, "exec": {"-a"}, "nohup": nil, "time": {"-f", "-o"},
	"sudo": {"-u", "-g", "-C", "-p"}, "doas": {"-u"}, "timeout": {"-s", "-k"}, "nice": {"-n"}, "ionice": {"-c", "-n"},
	"stdbuf": {"-i", "-o", "-e"}, "setsid": nil,
}

// command is the program that the words run in the end, and its arguments.
func command(words []string) (name string, args []string) {
	for len(words) > 1 {
		if assignment.MatchString(words[0]) {
			words = words[1:]
			continue
		}
		valued, wraps := wrappers[path.Base(words[0])]
		if !wraps {
			break
		}
		words = words[1:]
		for len(words) > 1 {
			if slices.Contains(valued, words[0]) && len(words) > 2 {
				words = words[1:]
			} else if !strings.HasPrefix(words[0], "-") && !duration.MatchString(words[0]) {
				break
			}
			words = words[1:]
		}
	}
	if len(words) == 0 {
		return "", nil
	}
	return words[0], words[1:]
}

// readers are programs that read their input, and do not run what is in it.
var readers = []string{
	"cat", "tee", "head", "tail", "wc", "sort", "uniq", "cut", "tr", "nl", "column", "fold", "rev", "tac", "diff", "patch",
	"jq", "base64", "md5sum", "sha1sum", "sha256sum", "gzip", "gunzip", "file", "less", "more", "read", "mapfile",
}

// onlyReads reports whether a program takes the text it is given for nothing but
// text: to look for it, or to keep it with a change.
func onlyReads(name string, args []string) bool {
	sub := ""
	if len(args) > 0 {
		sub = args[0]
	}
	switch path.Base(name) {
	case "grep", "egrep", "fgrep", "zgrep", "ag", "ack", "man", "whatis", "apropos":
		return true
	case "rg":
		return !slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(a, "--pre") })
	case "git":
		return slices.Contains([]string{"commit", "tag", "log", "shortlog", "grep", "notes", "merge", "stash"}, sub)
	case "gh":
		return slices.Contains([]string{"issue", "pr", "release"}, sub)
	}
	return false
}

// stores reports whether a program does nothing but read its input.
func stores(name string, args []string) bool {
	return slices.Contains(readers, path.Base(name)) || onlyReads(name, args)
}

// runsInput reports whether a program runs what it reads from its input.
func runsInput(name string, args []string) bool {
	program := path.Base(name)
	switch {
	case program == "xargs":
		at := slices.IndexFunc(args, func(a string) bool { return shell.MatchString(path.Base(a)) })
		return at >= 0 && slices.Contains(args[at:], "-c")
	case name == "." || name == "source":
		return len(args) > 0 && isInput(args[0])
	case shell.MatchString(program), interpreters.MatchString(program):
		return readsProgram(program, args)
	}
	return false
}

// readsProgram reports whether an interpreter is given no program by its arguments.
func readsProgram(program string, args []string) bool {
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		switch {
		case isInput(arg):
			return true
		case !strings.HasPrefix(arg, "-"):
			return false
		case strings.HasPrefix(arg, "--"):
		case shell.MatchString(program) && strings.HasSuffix(arg, "s"):
			return true // the rest are arguments
		case strings.ContainsAny(arg, programFlags(program)):
			return false
		case arg == "-W" || arg == "-X" || arg == "-o": // these have a value
			args = args[min(1, len(args)):]
		}
	}
	return true
}

// programFlags are the flags by which an interpreter is given its program.
func programFlags(program string) string {
	switch {
	case shell.MatchString(program):
		return "c"
	case strings.HasPrefix(program, "python"):
		return "cmV"
	case program == "node":
		return "epv"
	case program == "php":
		return "rfv"
	}
	return "eEv"
}

func isInput(file string) bool {
	return file == "-" || file == "/dev/stdin" || file == "/dev/fd/0" || file == "/proc/self/fd/0"
}

// fileRun is the file that a command runs, itself or by its interpreter, by the
// name that it is compared by; "" for none.
func fileRun(name string, args []string) string {
	if strings.Contains(name, "/") && !shell.MatchString(path.Base(name)) && !interpreters.MatchString(path.Base(name)) {
		return base(name)
	}
	program := path.Base(name)
	if !shell.MatchString(program) && !interpreters.MatchString(program) && name != "." && name != "source" {
		return ""
	}
	for _, arg := range args {
		switch {
		case !strings.HasPrefix(arg, "-"):
			return base(arg)
		case !strings.HasPrefix(arg, "--") && name != "." && name != "source" && strings.ContainsAny(arg, programFlags(program)):
			return ""
		}
	}
	return ""
}

// base names a file for comparing; a program found by its name alone has none.
func base(file string) string {
	file = path.Base(file)
	if file == "." || file == "/" || file == "-" || file == "null" {
		return ""
	}
	return file
}
