package audit

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// pipe looks at where the output of a command goes.
func (j *judging) pipe(b *syntax.BinaryCmd) string {
	if b.Op != syntax.Pipe && b.Op != syntax.PipeAll {
		return ""
	}
	direct, inside, only := j.consumers(b.Y)
	if direct != nil && shell.MatchString(path.Base(direct[0])) {
		return reasonPipe
	}
	for _, words := range inside {
		name, args := words[0], words[1:]
		switch {
		case !runsInput(name, args):
		case shell.MatchString(path.Base(name)), name == ".", name == "source":
			return reasonPipe
		case j.produces(b.X, fetches):
			return "piping a download into an interpreter"
		case j.produces(b.X, decodes):
			return "piping decoded text on"
		}
	}
	if !only {
		syntax.Walk(b.X, func(n syntax.Node) bool {
			if stmt, ok := n.(*syntax.Stmt); ok {
				j.run[stmt] = true
			}
			return true
		})
	}
	return ""
}

// consumers are the commands that may read the input of a statement. direct is the
// one command that it is, if it is one; only says that all of them only read.
func (j *judging) consumers(s *syntax.Stmt) (direct []string, all [][]string, only bool) {
	switch cmd := s.Cmd.(type) {
	case *syntax.CallExpr:
		name, args := command(j.words(cmd))
		direct = append([]string{name}, args...)
		return direct, [][]string{direct}, stores(name, args) && !j.run[s]
	case *syntax.Block:
		all, only = j.group(cmd.Stmts)
	case *syntax.Subshell:
		all, only = j.group(cmd.Stmts)
	case *syntax.BinaryCmd: // the first of a pipe, or either of a list
		_, all, only = j.consumers(cmd.X)
		if cmd.Op == syntax.AndStmt || cmd.Op == syntax.OrStmt {
			_, more, also := j.consumers(cmd.Y)
			all, only = append(all, more...), only && also
		}
	}
	return nil, all, only
}

func (j *judging) group(statements []*syntax.Stmt) (all [][]string, only bool) {
	only = true
	for _, stmt := range statements {
		_, more, also := j.consumers(stmt)
		all, only = append(all, more...), only && also
	}
	return all, only
}

func (j *judging) words(c *syntax.CallExpr) []string {
	words := make([]string, len(c.Args))
	for i, w := range c.Args {
		words[i] = j.unquoted(w)
	}
	return words
}

// produces reports whether a command of a statement is one that is looked for.
func (j *judging) produces(s *syntax.Stmt, is func(name string, args []string) bool) bool {
	found := false
	syntax.Walk(s, func(n syntax.Node) bool {
		if c, ok := n.(*syntax.CallExpr); ok {
			found = found || is(command(j.words(c)))
		}
		return !found
	})
	return found
}

func fetches(name string, _ []string) bool {
	name = path.Base(name)
	return name == "curl" || name == "wget"
}

// decodes reports whether a command makes programs of what looks like none.
func decodes(name string, args []string) bool {
	flag := func(short string, long ...string) bool {
		return slices.ContainsFunc(args, func(a string) bool {
			return slices.Contains(long, a) || len(a) > 1 && a[0] == '-' && a[1] != '-' && strings.ContainsAny(a, short)
		})
	}
	switch path.Base(name) {
	case "base64", "base32":
		return flag("dD", "--decode")
	case "xxd":
		return flag("r")
	case "openssl":
		return flag("d")
	}
	return false
}

// redirections looks at the files of a statement, and at the text that it is given.
func (j *judging) redirections(s *syntax.Stmt) string {
	name, args := "", []string(nil)
	if c, ok := s.Cmd.(*syntax.CallExpr); ok {
		name, args = command(j.words(c))
	}
	runs := runsInput(name, args)
	var given strings.Builder
	for _, r := range s.Redirs {
		text, reason := j.redirection(r, runs)
		if reason != "" {
			return reason
		}
		given.WriteString(text + "\n")
	}
	kept := stores(name, args) || name == "" && isSimple(s.Cmd)
	if j.run[s] || !kept {
		return dangerous(given.String())
	}
	for _, file := range j.written(s, name, args) {
		j.stored[file] += given.String()
	}
	return ""
}

// written are the files into which a statement writes what it reads.
func (j *judging) written(s *syntax.Stmt, name string, args []string) []string {
	var files []string
	for _, r := range s.Redirs {
		if slices.Contains(redirections, r.Op) {
			files = append(files, base(j.unquoted(r.Word)))
		}
	}
	if path.Base(name) == "tee" {
		for _, arg := range args {
			files = append(files, base(arg))
		}
	}
	return slices.DeleteFunc(files, func(f string) bool { return f == "" })
}

// redirection looks at one of them. given is the text that it stands for.
func (j *judging) redirection(r *syntax.Redirect, runs bool) (given, reason string) {
	switch r.Op {
	case syntax.Hdoc, syntax.DashHdoc:
		if r.Hdoc == nil {
			return "", ""
		}
		return j.raw(r.Hdoc), ""
	case syntax.WordHdoc, syntax.RdrIn:
		return j.input(r, runs)
	default:
		return "", dangerous("> " + j.unquoted(r.Word))
	}
}

// input looks at a file or a text that becomes the input of a program.
func (j *judging) input(r *syntax.Redirect, runs bool) (given, reason string) {
	text := j.unquoted(r.Word)
	switch {
	case runs && (commandSubst.MatchString(text) || r.Op == syntax.RdrIn && j.fetched[base(text)]):
		return "", reasonDownload
	case r.Op == syntax.RdrIn:
		return "", j.files([]string{text})
	}
	return j.literal(r.Word), ""
}

// isSimple reports whether a statement is redirections and no more, or a simple
// command.
func isSimple(c syntax.Command) bool {
	_, simple := c.(*syntax.CallExpr)
	return c == nil || simple
}
