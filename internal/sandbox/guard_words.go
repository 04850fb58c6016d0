package sandbox

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// takesFiles are commands for which a bare "/" is the root of the host.
var takesFiles = map[string]bool{
	"awk": true, "cat": true, "cp": true, "du": true, "find": true, "grep": true, "head": true, "less": true,
	"ln": true, "ls": true, "more": true, "mv": true, "rm": true, "sed": true, "tail": true, "tar": true,
}

func isShell(name string) bool {
	switch name {
	case "sh", "bash", "dash", "ksh", "zsh":
		return true
	}
	return false
}

func isInterpreter(name string) bool {
	switch name {
	case "node", "perl", "ruby", "php":
		return true
	}
	return isShell(name) || strings.HasPrefix(name, "python")
}

func isSearch(name string) bool {
	switch name {
	case "grep", "egrep", "fgrep", "rg", "sed", "awk", "gawk":
		return true
	}
	return false
}

// isCodeFlag matches -c, also together with other letters as in -lc.
func isCodeFlag(text string) bool {
	return len(text) > 1 && text[0] == '-' && text[1] != '-' && strings.HasSuffix(text, "c")
}

var assignment = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*=`)

// commandName is the program that a simple command runs, behind wrappers such as
// env or nohup, without its directory, and its arguments.
func commandName(c *syntax.CallExpr) (string, []*syntax.Word) {
	args := c.Args
	for len(args) > 0 {
		name := wordText(args[0])
		args = args[1:]
		switch name {
		case "command", "builtin", "exec", "env", "nohup", "time", "sudo", "doas", "xargs", "setsid", "nice":
			for len(args) > 0 {
				next := wordText(args[0])
				if next == "-v" || next == "-V" {
					return name, nil // it only asks what would run
				}
				if !strings.HasPrefix(next, "-") && !assignment.MatchString(next) {
					break
				}
				args = args[1:]
			}
			continue
		}
		return path.Base(name), args
	}
	return "", nil
}

// wordText is what a word says, without its quotes. What the shell would put in
// shows as $NAME or $().
func wordText(w *syntax.Word) string { return textOf(w, unescape) }

// rawText is what a word says with its backslashes, for paths that were written
// as on Windows.
func rawText(w *syntax.Word) string {
	return textOf(w, func(text string, _ bool) string { return text })
}

func textOf(w *syntax.Word, literal func(text string, quoted bool) string) string {
	if w == nil {
		return ""
	}
	var b strings.Builder
	writeParts(&b, w.Parts, false, literal)
	return b.String()
}

func writeParts(b *strings.Builder, parts []syntax.WordPart, quoted bool, literal func(string, bool) string) {
	for _, part := range parts {
		switch p := part.(type) {
		case *syntax.Lit:
			b.WriteString(literal(p.Value, quoted))
		case *syntax.SglQuoted:
			b.WriteString(p.Value)
		case *syntax.DblQuoted:
			writeParts(b, p.Parts, true, literal)
		case *syntax.ParamExp:
			b.WriteString("$")
			if p.Param != nil {
				b.WriteString(p.Param.Value)
			}
		case *syntax.ExtGlob:
			b.WriteString(p.Pattern.Value)
		default:
			b.WriteString("$()")
		}
	}
}

// unescape removes the backslashes that the shell removes.
func unescape(text string, quoted bool) string {
	if !strings.Contains(text, `\`) {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+1 < len(text) && (!quoted || strings.IndexByte("$`\"\\\n", text[i+1]) >= 0) {
			i++
			if text[i] == '\n' {
				continue
			}
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

var (
	webURL      = regexp.MustCompile(`(?i)\b[a-z][a-z0-9+.-]*://[^\s'"<>]*`)
	windowsPath = regexp.MustCompile(`(?i)(?:^|[\s'"=,])([a-z]:\\[^\s'"]*)`)
)

// hasTraversal reports whether a text has a ".." path segment, also with
// backslashes. URLs may have them.
func hasTraversal(text string) bool {
	if !strings.Contains(text, "..") {
		return false
	}
	pieces := strings.FieldsFunc(webURL.ReplaceAllString(text, " "), func(r rune) bool {
		return strings.ContainsRune(" \t\n\r'\"`=:,;(){}<>|&/\\", r)
	})
	return slices.Contains(pieces, "..")
}

// pathTokens finds the absolute paths in a text. Fragments that are plainly no
// path of a host are left out: with characters beyond ASCII, or with {name}
// placeholders.
func pathTokens(text string) []string {
	var tokens []string
	text = webURL.ReplaceAllString(text, " ")
	for i := 0; i < len(text); i++ {
		if text[i] != '/' || !tokenStarts(text[:i]) {
			continue
		}
		end := tokenEnd(text, i)
		token := text[i:end]
		if isASCII(token) && !placeholders(token) {
			tokens = append(tokens, token)
		}
		i = end
	}
	return tokens
}

// tokenStarts reports whether a path can begin after this text.
func tokenStarts(before string) bool {
	if before == "" {
		return true
	}
	if strings.IndexByte(" \t\n\r'\"`=:,@{", before[len(before)-1]) >= 0 {
		return true
	}
	return len(before) == 2 && before[0] == '-' && isNameByte(before[1])
}

// tokenEnd is where the path that begins at i ends; what stands in braces
// belongs to it.
func tokenEnd(text string, i int) int {
	depth := 0
	for ; i < len(text); i++ {
		switch c := text[i]; {
		case c == '{':
			depth++
		case c == '}':
			if depth == 0 {
				return i
			}
			depth--
		case strings.IndexByte(" \t\n\r'\"`;|&<>()", c) >= 0:
			return i
		case depth == 0 && (c == ':' || c == ','):
			return i
		}
	}
	return i
}

var placeholder = regexp.MustCompile(`\{[A-Za-z_][A-Za-z0-9_]*\}`)

// placeholders reports whether a fragment has {name} placeholders and no other
// braces; ${NAME} and {a,b} are the shell's own.
func placeholders(token string) bool {
	if !strings.Contains(token, "{") || strings.Contains(token, "$") {
		return false
	}
	return !strings.ContainsAny(placeholder.ReplaceAllString(token, ""), "{}")
}

func isRoot(text string) bool { return path.IsAbs(text) && path.Clean(text) == "/" }

// allowedPath reports whether an absolute path lies in one of the directories.
// Only the part before the first expansion is known; it has to suffice.
func allowedPath(p string, dirs []string) bool {
	if i := strings.IndexAny(p, "$*?[{"); i >= 0 {
		p = p[:strings.LastIndexByte(p[:i], '/')+1]
	}
	p = path.Clean(strings.TrimRight(p, ".!?"))
	for _, d := range dirs {
		if within(p, path.Clean(d)) {
			return true
		}
	}
	return false
}
