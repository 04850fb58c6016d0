package audit

import (
	"regexp"
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

// raw is the text of a part of the script as it is written.
func (s script) raw(n syntax.Node) string {
	from, to := int(n.Pos().Offset()), int(n.End().Offset())
	return s.source[min(from, len(s.source)):min(to, len(s.source))]
}

// unquoted is a word without its quotes; what the shell would expand stands as it
// is written.
func (s script) unquoted(w *syntax.Word) string { return s.spell(w, true) }

// literal is unquoted with nothing in place of the commands in a word: they are
// looked at by themselves.
func (s script) literal(w *syntax.Word) string { return s.spell(w, false) }

func (s script) spell(w *syntax.Word, commands bool) string {
	if w == nil {
		return ""
	}
	var b strings.Builder
	s.parts(&b, w.Parts, commands, escape)
	return b.String()
}

var (
	escape = regexp.MustCompile(`\\(.)`)
	// escapeQuoted is that between double quotes.
	escapeQuoted = regexp.MustCompile("\\\\([$`\"\\\\])")
)

func (s script) parts(b *strings.Builder, parts []syntax.WordPart, commands bool, escapes *regexp.Regexp) {
	for _, p := range parts {
		switch p := p.(type) {
		case *syntax.Lit:
			b.WriteString(escapes.ReplaceAllString(p.Value, "$1"))
		case *syntax.SglQuoted:
			b.WriteString(p.Value)
		case *syntax.DblQuoted:
			s.parts(b, p.Parts, commands, escapeQuoted)
		case *syntax.CmdSubst, *syntax.ProcSubst:
			if commands {
				b.WriteString(s.raw(p))
			} else {
				b.WriteString("$()")
			}
		default:
			b.WriteString(s.raw(p))
		}
	}
}
