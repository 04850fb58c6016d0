package audit

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// script is a command as the shell reads it.
type script struct {
	source     string
	statements []*syntax.Stmt
	// rest is what could not be read: a shell runs what stands before it.
	rest string
}

// parse reads a command as far as it can be read.
func parse(source string) script {
	s := script{source: source}
	var err error
	for stmt, failed := range syntax.NewParser(syntax.Variant(syntax.LangBash)).StmtsSeq(strings.NewReader(source)) {
		if failed != nil {
			err = failed
			continue // breaking off here makes the parser panic
		}
		if err == nil {
			s.statements = append(s.statements, stmt)
		}
	}
	if err != nil {
		from := 0
		if n := len(s.statements); n > 0 {
			from = int(s.statements[n-1].End().Offset())
		}
		s.rest = strings.TrimLeft(source[min(from, len(source)):], " \t\n;&|")
	}
	return s
}

// dangerous looks at every command of the script.
func (s script) dangerous() string {
	if commandSubst.MatchString(prefixes.ReplaceAllString(collapse(s.rest), "")) {
		return reasonDownload
	}
	reason := ""
	fetched := map[string]bool{}
	for _, stmt := range s.statements {
		syntax.Walk(stmt, func(n syntax.Node) bool {
			switch n := n.(type) {
			case *syntax.Stmt:
				s.fetches(n, fetched)
			case *syntax.CallExpr:
				if reason == "" {
					reason = s.call(n, fetched)
				}
			}
			return reason == ""
		})
	}
	return reason
}

const reasonDownload = "running what was downloaded"

var (
	commandSubst = regexp.MustCompile(`^` + riskySubst)
	// prefixes are what may stand before a command's own word.
	prefixes   = regexp.MustCompile(`^(?:(?:env|command|builtin|exec|nohup|time|sudo|doas|[A-Za-z_]\w*=\S*)\s+){1,8}`)
	isPrefix   = regexp.MustCompile(`^(?:env|command|builtin|exec|nohup|time|sudo|doas|[A-Za-z_]\w*=.*|-.*)$`)
	isVariable = regexp.MustCompile(`^\$\{?\w+\}?$`)
	runs       = regexp.MustCompile(`^(?:(?:ba|da|k|z)?sh|python[\d.]*|perl|ruby|node|php|source|\.)$`)
)

// call looks at one simple command.
func (s script) call(c *syntax.CallExpr, fetched map[string]bool) string {
	words := make([]string, len(c.Args))
	for i, w := range c.Args {
		words[i] = s.unquoted(w)
	}
	if reason := dangerous(strings.Join(words, " ")); reason != "" {
		return reason // quotes hid it
	}
	for len(words) > 1 && isPrefix.MatchString(words[0]) {
		words = words[1:]
	}
	if len(words) == 0 {
		return ""
	}
	name, args := words[0], words[1:]
	switch {
	case commandSubst.MatchString(name), name == "." && len(args) > 0 && commandSubst.MatchString(args[0]), runsFile(name, args, fetched):
		return reasonDownload
	case isVariable.MatchString(name) && removesTooMuch(args):
		return "deleting a root directory"
	}
	return ""
}

// runsFile reports whether a command runs one of the files, itself or by its
// interpreter.
func runsFile(name string, args []string, files map[string]bool) bool {
	if strings.Contains(name, "/") && files[base(name)] {
		return true
	}
	if !runs.MatchString(path.Base(name)) {
		return false
	}
	at := slices.IndexFunc(args, func(a string) bool { return !strings.HasPrefix(a, "-") })
	return at >= 0 && files[base(args[at])]
}

// fetches notes the files into which a statement downloads something.
func (s script) fetches(stmt *syntax.Stmt, into map[string]bool) {
	c, ok := stmt.Cmd.(*syntax.CallExpr)
	if !ok || len(c.Args) == 0 {
		return
	}
	if name := path.Base(s.unquoted(c.Args[0])); name != "curl" && name != "wget" {
		return
	}
	for _, r := range stmt.Redirs {
		if r.Word != nil && slices.Contains(redirections, r.Op) {
			into[base(s.unquoted(r.Word))] = true
		}
	}
	before := ""
	for _, w := range c.Args[1:] {
		arg := s.unquoted(w)
		name, file, _ := strings.Cut(arg, "=")
		switch {
		case slices.Contains(outputFlags, before):
			into[base(arg)] = true
		case slices.Contains(outputFlags, name):
			into[base(file)] = true
		case strings.Contains(arg, "://"):
			into[base(arg)] = true // the name that the server's file keeps
		}
		before = arg
	}
	delete(into, "")
}

var (
	redirections = []syntax.RedirOperator{syntax.RdrOut, syntax.AppOut, syntax.RdrClob, syntax.RdrAll}
	outputFlags  = []string{"-o", "-O", "--output", "--output-document"}
)

// base names a file for comparing; a program found by its name alone has none.
func base(file string) string {
	file = path.Base(file)
	if file == "." || file == "/" || file == "-" || file == "null" {
		return ""
	}
	return file
}

// unquoted is a word without its quotes; what the shell would expand stands as it
// is written.
func (s script) unquoted(w *syntax.Word) string {
	var b strings.Builder
	s.parts(&b, w.Parts)
	return b.String()
}

func (s script) parts(b *strings.Builder, parts []syntax.WordPart) {
	for _, p := range parts {
		switch p := p.(type) {
		case *syntax.Lit:
			b.WriteString(p.Value)
		case *syntax.SglQuoted:
			b.WriteString(p.Value)
		case *syntax.DblQuoted:
			s.parts(b, p.Parts)
		default:
			from, to := int(p.Pos().Offset()), int(p.End().Offset())
			b.WriteString(s.source[min(from, len(s.source)):min(to, len(s.source))])
		}
	}
}
