package audit

import (
	"regexp"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

const (
	reasonDownload  = "running what was downloaded"
	reasonRemoval   = "deleting a root directory"
	reasonPipe      = "piping into a shell"
	reasonProcesses = "starting processes without end"
)

// judging looks at a script command by command.
type judging struct {
	script
	// fetched are files into which the script downloads something, stored the texts
	// that it writes into files.
	fetched map[string]bool
	stored  map[string]string
	// run are statements whose output becomes the input of a program that is not
	// known to only read it.
	run map[*syntax.Stmt]bool
}

// dangerous gives the reason why the script must not run, empty for none. Where it
// can be read, its commands are judged: a text that one of them only stores or
// looks for is no command. What cannot be read is judged as text.
func (s script) dangerous() string {
	if s.rest != "" {
		if commandSubst.MatchString(prefixes.ReplaceAllString(collapse(s.rest), "")) {
			return reasonDownload
		}
		if reason := dangerous(s.source); reason != "" {
			return reason
		}
	}
	j := judging{script: s, fetched: map[string]bool{}, stored: map[string]string{}, run: map[*syntax.Stmt]bool{}}
	reason := ""
	for _, stmt := range s.statements {
		syntax.Walk(stmt, func(n syntax.Node) bool {
			if reason == "" {
				reason = j.node(n)
			}
			return reason == ""
		})
	}
	return reason
}

func (j *judging) node(n syntax.Node) string {
	switch n := n.(type) {
	case *syntax.Stmt:
		j.fetches(n)
		return j.redirections(n)
	case *syntax.CallExpr:
		return j.call(n)
	case *syntax.BinaryCmd:
		return j.pipe(n)
	case *syntax.Assign:
		return j.assigns(n)
	case *syntax.WordIter:
		return dangerous(j.join(n.Items))
	case *syntax.WhileClause, *syntax.ForClause, *syntax.FuncDecl:
		return endless(n)
	}
	return ""
}

func (j *judging) join(words []*syntax.Word) string {
	texts := make([]string, len(words))
	for i, w := range words {
		texts[i] = j.literal(w)
	}
	return strings.Join(texts, " ")
}

// assigns looks at a variable that is set: what it holds may be run later.
func (j *judging) assigns(a *syntax.Assign) string {
	if a.Name != nil && !a.Naked {
		if reason := dangerous(a.Name.Value + "="); reason != "" {
			return reason
		}
	}
	words := []*syntax.Word{a.Value}
	if a.Array != nil {
		for _, e := range a.Array.Elems {
			words = append(words, e.Value)
		}
	}
	return dangerous(j.join(words))
}

var (
	commandSubst = regexp.MustCompile(`^` + riskySubst)
	anySubst     = regexp.MustCompile(riskySubst)
	// prefixes are what may stand before a command's own word.
	prefixes   = regexp.MustCompile(`^(?:(?:env|command|builtin|exec|nohup|time|sudo|doas|[A-Za-z_]\w*=\S*)\s+){1,8}`)
	isVariable = regexp.MustCompile(`^\$\{?\w+\}?$`)
)

// call looks at one simple command.
func (j *judging) call(c *syntax.CallExpr) string {
	literal, full := make([]string, len(c.Args)), make([]string, len(c.Args))
	for i, w := range c.Args {
		literal[i], full[i] = j.literal(w), j.unquoted(w)
	}
	name, args := command(full)
	if onlyReads(name, args) {
		return j.files(literal)
	}
	if reason := dangerous(strings.Join(literal, " ")); reason != "" {
		return reason
	}
	if reason := first(downloadRules, collapse(strings.Join(full, " "))); reason != "" {
		return reason
	}
	switch {
	case commandSubst.MatchString(name), name == "." && len(args) > 0 && commandSubst.MatchString(args[0]), j.runsFetched(name, args):
		return reasonDownload
	case name == "eval" && anySubst.MatchString(strings.Join(args, " ")):
		return reasonDownload
	case isVariable.MatchString(name) && removesTooMuch(args):
		return reasonRemoval
	}
	return dangerous(j.stored[fileRun(name, args)])
}

// files looks at what a command is given that only reads: prose is no file.
func (j *judging) files(words []string) string {
	for _, word := range words {
		if strings.ContainsAny(word, " \t\n") {
			continue
		}
		if reason := first(fileRules, slashes.ReplaceAllString(word, "/")); reason != "" {
			return reason
		}
	}
	return ""
}
