package audit

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// rule is a pattern of a command's text whose white space is collapsed.
type rule struct {
	reason  string
	pattern *regexp.Regexp
}

// Pieces of patterns.
const (
	end         = `(?:[\s;&|()<>"'` + "`" + `]|$)` // behind a whole word
	risky       = `(?:/\S*/)?(?:curl|wget|bash|sh|python[\d.]*|ruby|perl|base64)` + end
	riskySubst  = `["']?(?:\$\(|<\(|` + "`" + `)\s*` + risky
	interpreter = `(?:^|[\s;&|(/"'` + "`" + `])(?:(?:ba|da|k|z)?sh|python[\d.]*|perl|ruby|node|php)`
	systemDirs  = `/(?:etc|bin|sbin|usr/bin|usr/sbin|usr/local/bin|usr/local/sbin)/`
	startFiles  = `(?:~|\$HOME|\$\{HOME\})?/?\.(?:bashrc|bash_profile|bash_login|profile|zshrc|zprofile|zshenv)\b`
)

// highRules are what must not run, wherever it stands.
var highRules = slices.Concat(commandRules, fileRules, downloadRules)

// commandRules are what no command may do.
var commandRules = []rule{
	{"writing to a disk with dd", regexp.MustCompile(`\bdd\s+(?:\S+\s+)*if=`)},
	{"making a file system", regexp.MustCompile(`\bmkfs`)},
	{"writing into a system directory", regexp.MustCompile(`>>?\|?\s*["']?` + systemDirs)},
	{"writing into a system directory", regexp.MustCompile(`\btee\s+(?:-\S+\s+)*["']?` + systemDirs)},
	{"writing into a start-up file of the shell", regexp.MustCompile(`>>?\|?\s*["']?~` + startFiles)},
	{"writing into a start-up file of the shell", regexp.MustCompile(`>>?\|?\s*["']?` + startFiles)},
	{"piping into a shell", regexp.MustCompile(`(?:^|[^|])\|&?\s*(?:(?:sudo|env|exec|command|nohup)\s+)*(?:/\S*/)?(?:ba|da|k|z)?sh` + end)},
	{"piping a download into an interpreter", regexp.MustCompile(`\b(?:curl|wget)\b[^;]*[^|;]\|&?\s*(?:sudo\s+|env\s+)*(?:/\S*/)?(?:python[\d.]*|perl|ruby|node|php)\s*(?:-\s*)?(?:[;&|)]|$)`)},
	{"piping decoded text on", regexp.MustCompile(`\bbase64\s+(?:[^\s|;&]+\s+)*(?:-[a-zA-Z]*[dD][a-zA-Z]*|--decode)\b[^|;&]*\|`)},
	{"replacing libraries of programs", regexp.MustCompile(`\b(?:LD_PRELOAD|LD_LIBRARY_PATH)\s*=`)},
	{"handing a shell to the network", regexp.MustCompile(`\b(?:nc|ncat|netcat)\s+(?:\S+\s+)*(?:-[a-zA-Z]*e\b|-[a-zA-Z]*c\s+(?:/\S*/)?(?:ba|da|k|z)?sh\b|--exec|--sh-exec)`)},
	{"starting processes without end", regexp.MustCompile(`\bwhile\s+(?:true|:|1|\[ 1 \])\s*;?\s*do\b.*[^&]&\s*done`)},
}

// fileRules are what no command may be given.
var fileRules = []rule{
	{"reading the password file", regexp.MustCompile(`/etc/g?shadow\b`)},
	{"reading the environment of a process", regexp.MustCompile(`/proc/(?:[^/\s]+/)+environ`)},
	{"opening a network connection from the shell", regexp.MustCompile(`/dev/(?:tcp|udp)/`)},
}

// downloadRules are the places where what a command writes is run.
var downloadRules = []rule{
	{reasonDownload, regexp.MustCompile(`\b(?:eval|source)\s+` + riskySubst)},
	{reasonDownload, regexp.MustCompile(interpreter + `(?:\s+-\S+){0,4}?\s+-[A-Za-z]*[cepr]\s+` + riskySubst)},
	{reasonDownload, regexp.MustCompile(interpreter + `(?:\s+-\S+)*\s*<<<\s*` + riskySubst)},
	{reasonDownload, regexp.MustCompile(interpreter + `(?:\s+-\S+)*\s+<\(\s*` + risky)},
}

// mediumRules are what runs with a warning.
var mediumRules = []rule{
	{"opens files to everybody", regexp.MustCompile(`\bchmod\s+(?:-\S+\s+)*0?777\b`)},
	{"installs packages", regexp.MustCompile(`\bpip3?\s+(?:-\S+\s+)*install\b`)},
	{"installs packages", regexp.MustCompile(`\bapt(?:-get)?\s+(?:-\S+\s+)*install\b`)},
	{"acts as another user", regexp.MustCompile(`\b(?:sudo|su)\b`)},
	{"changes where programs are found", regexp.MustCompile(`\bPATH\s*=`)},
}

func first(rules []rule, text string) string {
	for _, r := range rules {
		if r.pattern.MatchString(text) {
			return r.reason
		}
	}
	return ""
}

// dangerous gives the reason why a text must not run, empty for none.
func dangerous(text string) string {
	text = slashes.ReplaceAllString(text, "/")
	if reason := first(highRules, collapse(text)); reason != "" {
		return reason
	}
	for _, m := range removal.FindAllStringSubmatch(text, -1) {
		if removesTooMuch(strings.Fields(m[1])) {
			return "deleting a root directory"
		}
	}
	for _, m := range function.FindAllStringSubmatch(text, -1) {
		name := regexp.QuoteMeta(m[1])
		if strings.Contains(m[2], "&") && regexp.MustCompile(name+`\s*\|\s*`+name).MatchString(m[2]) {
			return "starting processes without end"
		}
	}
	return ""
}

var (
	// slashes are spellings of one.
	slashes = regexp.MustCompile(`/(?:\.?/)+`)
	// removal is rm with its arguments, to the end of the command.
	removal  = regexp.MustCompile(`(?:^|[\s;&|(/"'` + "`" + `\\!])rm((?:[ \t]+[^\s;&|]+)+)`)
	function = regexp.MustCompile(`([\w:.]+)\s*\(\)\s*\{([^}]*)\}`)
)

// roots are the directories that nobody may remove as a whole.
var roots = []string{
	"", "~", "$HOME", "${HOME}", "/home", "/root", "/etc", "/usr", "/bin", "/sbin", "/lib", "/lib64", "/var", "/boot", "/dev",
	"/proc", "/sys", "/opt", "/srv", "/usr/bin", "/usr/sbin", "/usr/lib", "/usr/local",
}

// removesTooMuch reports whether the arguments of rm remove a root directory
// with all that is in it.
func removesTooMuch(args []string) bool {
	recursive, target := false, false
	for _, arg := range args {
		arg = strings.Trim(arg, `"'`+"`"+`)}`)
		if strings.HasPrefix(arg, "-") {
			long := strings.HasPrefix(arg, "--")
			recursive = recursive || arg == "--recursive" || !long && strings.ContainsAny(arg, "rR")
			continue
		}
		target = target || isRoot(strings.ReplaceAll(strings.ReplaceAll(arg, `"`, ""), "'", ""))
	}
	return recursive && target
}

func isRoot(p string) bool {
	if p == "" {
		return false
	}
	if strings.HasPrefix(p, "/") && !strings.HasSuffix(p, "*") {
		p = path.Clean(p)
	}
	for {
		shorter := strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(p, "*"), "/."), "/")
		if shorter == p {
			return slices.Contains(roots, p)
		}
		p = shorter
	}
}
