package sandbox

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// maxCommand is the longest command that is looked at, in bytes.
const maxCommand = 100_000

// maxNesting is how deep shell text inside shell text is looked at.
const maxNesting = 4

// systemPaths are directories of the host that commands may name: where
// programs are.
var systemPaths = []string{
	"/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/local/bin", "/opt/homebrew/bin", "/dev",
}

// checkLine refuses what is no command.
func checkLine(line string) error {
	switch {
	case strings.TrimSpace(line) == "":
		return &CommandError{Reason: "The command is empty."}
	case strings.ContainsRune(line, 0):
		return &CommandError{Reason: "The command has a NUL character."}
	case len(line) > maxCommand:
		return &CommandError{Reason: fmt.Sprintf("The command is longer than %d bytes: put it into a script with write_file and run that.", maxCommand)}
	}
	return nil
}

// checkCommand looks for paths in a command that leave what the sandbox shows.
// It is a help for a model that has lost its way, not a wall: a shell has too
// many ways to spell a path. Who needs a wall uses a sandbox that has one.
func (l *local) checkCommand(line string) error {
	if err := checkLine(line); err != nil {
		return err
	}
	g := &guard{}
	for _, m := range l.paths.mounts {
		g.workdirs = append(g.workdirs, m.virtual)
	}
	g.allowed = slices.Concat(g.workdirs, l.provider.options.CommandPaths, systemPaths)
	g.text(line, 0)
	return g.verdict()
}

// guard collects what is wrong with a command.
type guard struct {
	workdirs []string // where a command may change to
	allowed  []string // what a command may name
	seen     map[*syntax.Word]bool

	traversal string
	workdir   string
	fileURL   bool
	unsafe    []string
}

// verdict is the refusal, the most telling reason first.
func (g *guard) verdict() error {
	switch {
	case g.fileURL:
		return &CommandError{Reason: "Unsafe absolute paths in command: file:// URLs are not allowed. Use paths under " + UserData + "."}
	case g.traversal != "":
		return &CommandError{Reason: fmt.Sprintf("Access denied: path traversal (%q) in command. Use paths under %s or relative to the workspace.", g.traversal, UserData)}
	case g.workdir != "":
		return &CommandError{Reason: fmt.Sprintf("Unsafe working directory in command: %s. Commands start in the workspace; change only to directories under %s.", g.workdir, UserData)}
	case len(g.unsafe) > 0:
		slices.Sort(g.unsafe)
		return &CommandError{Reason: fmt.Sprintf("Unsafe absolute paths in command: %s. Use paths under %s.", strings.Join(slices.Compact(g.unsafe), ", "), UserData)}
	}
	return nil
}

var fileURL = regexp.MustCompile(`(?i)file://`)

// text checks shell text. What cannot be parsed is checked word by word.
func (g *guard) text(line string, depth int) {
	if fileURL.MatchString(line) {
		g.fileURL = true
	}
	if depth > maxNesting {
		return
	}
	tree, err := syntax.NewParser().Parse(strings.NewReader(strings.ReplaceAll(line, "\r\n", "\n")), "")
	if err != nil {
		g.unparsed(line)
		return
	}
	seen := g.seen
	g.seen = map[*syntax.Word]bool{}
	piped := pipedCalls(tree)
	syntax.Walk(tree, func(node syntax.Node) bool {
		switch n := node.(type) {
		case *syntax.Stmt:
			g.redirects(n, depth)
		case *syntax.CallExpr:
			g.call(n, piped[n], depth)
		case *syntax.Word:
			if !g.seen[n] {
				g.word(wordText(n))
				g.backslashes(rawText(n))
			}
		}
		return true
	})
	g.seen = seen
}

// pipedCalls are the calls whose output another command reads.
func pipedCalls(tree syntax.Node) map[*syntax.CallExpr]bool {
	piped := map[*syntax.CallExpr]bool{}
	mark := func(node syntax.Node) bool {
		if call, ok := node.(*syntax.CallExpr); ok {
			piped[call] = true
		}
		return true
	}
	var find func(node syntax.Node) bool
	find = func(node syntax.Node) bool {
		b, ok := node.(*syntax.BinaryCmd)
		if !ok || b.Op != syntax.Pipe && b.Op != syntax.PipeAll {
			return true
		}
		syntax.Walk(b.X, mark)
		syntax.Walk(b.Y, find)
		return false
	}
	syntax.Walk(tree, find)
	return piped
}

// redirects checks where a statement reads and writes. The body of a here
// document is data, unless it goes to something that runs it.
func (g *guard) redirects(s *syntax.Stmt, depth int) {
	name := ""
	if call, ok := s.Cmd.(*syntax.CallExpr); ok {
		name, _ = commandName(call)
	}
	for _, r := range s.Redirs {
		if r.Hdoc == nil {
			continue
		}
		g.seen[r.Hdoc] = true
		g.seen[r.Word] = true // the delimiter
		switch {
		case isShell(name):
			g.text(wordText(r.Hdoc), depth+1)
		case isInterpreter(name):
			g.word(wordText(r.Hdoc))
		}
	}
}

// call checks one simple command by what its name makes of its arguments.
func (g *guard) call(c *syntax.CallExpr, piped bool, depth int) {
	name, args := commandName(c)
	switch {
	case name == "cd" || name == "pushd":
		g.changeDirectory(args)
	case (name == "echo" || name == "printf") && !piped:
		g.skip(args) // text that is only shown or stored
	case name == "eval" || name == "source" || name == ".":
		g.nested(args, depth)
	case isShell(name):
		if i := slices.IndexFunc(args, func(w *syntax.Word) bool { return isCodeFlag(wordText(w)) }); i >= 0 {
			g.nested(args[i+1:min(i+2, len(args))], depth)
		}
	case isSearch(name):
		g.skipPattern(args)
	}
	if takesFiles[name] {
		g.roots(args)
	}
}

// roots looks for a "/" among the arguments of a command that takes files.
func (g *guard) roots(args []*syntax.Word) {
	for _, w := range args {
		if !g.seen[w] && isRoot(wordText(w)) {
			g.unsafe = append(g.unsafe, "/")
		}
	}
}

// nested checks arguments that are shell text themselves.
func (g *guard) nested(args []*syntax.Word, depth int) {
	for _, w := range args {
		g.text(wordText(w), depth+1)
	}
}

func (g *guard) skip(args []*syntax.Word) {
	for _, w := range args {
		g.seen[w] = true
	}
}

// skipPattern leaves out the first operand of a search and a program for sed or
// awk: slashes in it belong to a pattern.
func (g *guard) skipPattern(args []*syntax.Word) {
	for i, w := range args {
		text := wordText(w)
		switch {
		case text == "-e" && i+1 < len(args):
			g.seen[args[i+1]] = true
			return
		case strings.HasPrefix(text, "-") || number.MatchString(text):
			// an option, or the value of one such as -A 3
		default:
			g.seen[w] = !fileInProgram.MatchString(text)
			return
		}
	}
}

// fileInProgram matches a program for sed or awk that names a file: r and w
// commands, or a string that begins with a slash.
var fileInProgram = regexp.MustCompile(`(^|[;{}\s/0-9$])[rRwW]\s+/|"/`)

var number = regexp.MustCompile(`^[0-9]+$`)

// changeDirectory checks the target of cd.
func (g *guard) changeDirectory(args []*syntax.Word) {
	for len(args) > 0 {
		flag := wordText(args[0])
		if flag != "-L" && flag != "-P" && flag != "-e" && flag != "--" {
			break
		}
		args = args[1:]
	}
	if len(args) == 0 {
		g.workdir = "cd without a directory"
		return
	}
	target := wordText(args[0])
	g.seen[args[0]] = true
	switch {
	case hasTraversal(target):
		g.traversal = target
	case target == "" || target == "-" || strings.ContainsAny(target[:1], "$`~"):
		g.workdir = "cd " + target
	case path.IsAbs(target) && !allowedPath(target, g.workdirs):
		g.workdir = "cd " + target
	}
}

// word checks one word, whatever it means.
func (g *guard) word(text string) {
	if hasTraversal(text) {
		g.traversal = firstLine(text)
	}
	if homeOfUser.MatchString(text) {
		g.unsafe = append(g.unsafe, firstLine(text))
	}
	for _, p := range pathTokens(text) {
		// A "/" alone is often no path at all; call looks at those that are.
		if !isRoot(p) && !allowedPath(p, g.allowed) {
			g.unsafe = append(g.unsafe, firstLine(p))
		}
	}
}

// backslashes checks a word as it would be read on Windows.
func (g *guard) backslashes(raw string) {
	if hasTraversal(raw) {
		g.traversal = firstLine(raw)
	}
	for _, m := range windowsPath.FindAllStringSubmatch(raw, -1) {
		g.unsafe = append(g.unsafe, firstLine(m[1]))
	}
}

// homeOfUser matches ~name; a bare ~ is the workspace.
var homeOfUser = regexp.MustCompile(`^~[A-Za-z_]`)

// unparsed checks text that is no valid shell: every word, and every cd.
func (g *guard) unparsed(line string) {
	for _, part := range strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune("\n;&|(){}<>", r) }) {
		words := strings.Fields(strings.NewReplacer(`"`, " ", "'", " ", "`", " ").Replace(part))
		for i, w := range words {
			g.word(w)
			if (w == "cd" || w == "pushd") && i == 0 && (len(words) == 1 || strings.ContainsAny(words[1][:1], "$~/-")) {
				g.workdir = strings.Join(words[:min(2, len(words))], " ")
			}
		}
	}
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	if r := []rune(line); len(r) > 80 {
		return string(r[:77]) + "..."
	}
	return line
}
