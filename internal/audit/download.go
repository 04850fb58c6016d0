package audit

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

var redirections = []syntax.RedirOperator{syntax.RdrOut, syntax.AppOut, syntax.RdrClob, syntax.RdrAll}

// runsFetched reports whether a command runs one of the files that were downloaded.
func (j *judging) runsFetched(name string, args []string) bool {
	return j.fetched[fileRun(name, args)]
}

// fetches notes the files into which a statement downloads something.
func (j *judging) fetches(stmt *syntax.Stmt) {
	c, ok := stmt.Cmd.(*syntax.CallExpr)
	if !ok {
		return
	}
	name, args := command(j.words(c))
	if !fetches(name, args) {
		return
	}
	for _, r := range stmt.Redirs {
		if r.Word != nil && slices.Contains(redirections, r.Op) {
			j.fetched[base(j.unquoted(r.Word))] = true
		}
	}
	for i, arg := range args {
		if strings.Contains(arg, "://") {
			j.fetched[base(arg)] = true // the name that the server's file keeps
		}
		file, output := outputOf(path.Base(name), arg)
		if output && file == "" && i+1 < len(args) {
			file = args[i+1]
		}
		if output {
			j.fetched[base(file)] = true
		}
	}
	delete(j.fetched, "")
}

// outputOf reports whether a flag of curl or wget names the file to write, which
// may be written together with it.
func outputOf(program, arg string) (file string, ok bool) {
	if strings.HasPrefix(arg, "--") {
		name, file, _ := strings.Cut(arg, "=")
		return file, name == "--output" || name == "--output-document"
	}
	if !strings.HasPrefix(arg, "-") {
		return "", false
	}
	letter := "o"
	if program == "wget" {
		letter = "O"
	}
	_, file, ok = strings.Cut(arg, letter)
	return file, ok
}
