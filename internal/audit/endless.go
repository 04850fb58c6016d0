package audit

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// endless gives a reason for a loop without end that leaves processes behind, and
// for a function that calls itself twice at once.
func endless(n syntax.Node) string {
	var body []*syntax.Stmt
	switch n := n.(type) {
	case *syntax.WhileClause:
		if always(n.Cond, n.Until) {
			body = n.Do
		}
	case *syntax.ForClause:
		if loop, ok := n.Loop.(*syntax.CStyleLoop); ok && loop.Cond == nil {
			body = n.Do
		}
	case *syntax.FuncDecl:
		if n.Name != nil && doubles(n.Body, n.Name.Value) {
			return reasonProcesses
		}
	}
	if len(body) > 0 && body[len(body)-1].Background {
		return reasonProcesses
	}
	return ""
}

// always reports whether the condition of a loop holds for ever.
func always(condition []*syntax.Stmt, until bool) bool {
	if len(condition) != 1 {
		return false
	}
	c, ok := condition[0].Cmd.(*syntax.CallExpr)
	if !ok {
		return false
	}
	var words []string
	for _, w := range c.Args {
		words = append(words, w.Lit())
	}
	switch strings.Join(words, " ") {
	case "true", ":", "1", "[ 1 ]":
		return !until
	case "false":
		return until
	}
	return false
}

// doubles reports whether a function pipes itself into itself.
func doubles(body *syntax.Stmt, name string) bool {
	calls := func(s *syntax.Stmt) bool {
		c, ok := s.Cmd.(*syntax.CallExpr)
		return ok && len(c.Args) > 0 && c.Args[0].Lit() == name
	}
	found := false
	syntax.Walk(body, func(n syntax.Node) bool {
		if b, ok := n.(*syntax.BinaryCmd); ok && b.Op == syntax.Pipe && calls(b.X) && calls(b.Y) {
			found = true
		}
		return !found
	})
	return found
}
