package sandbox

import (
	"strings"
)

// pair is a path prefix and what stands in for it.
type pair struct{ from, to string }

// rewriteCommand puts the host's spelling into the text of a shell command. Only
// a whole path prefix counts: /mnt/user-data-old and /x/mnt/user-data stay.
func (m *mapping) rewriteCommand(text string) string {
	pairs := make([]pair, 0, len(m.mounts))
	for _, mt := range m.mounts {
		pairs = append(pairs, pair{from: mt.virtual, to: mt.command})
	}
	return replacePaths(text, pairs, startsPath, endsShellPath)
}

// mask replaces the host's spelling in output and errors. Where a virtual path
// exists it takes its place, other parts of the data directory become [host].
// What precedes a path does not matter here: showing less is the safe side.
func (m *mapping) mask(text string) string {
	anywhere := func(string) bool { return true }
	text = replacePaths(text, m.hosts, anywhere, endsPath)
	return replacePaths(text, m.hidden, anywhere, endsPath)
}

// replacePaths replaces every occurrence of a pair's prefix that begins and ends
// where a path segment does. Pairs are tried in order, in one pass, so nothing
// is replaced twice.
func replacePaths(text string, pairs []pair, starts, ends func(string) bool) string {
	var out strings.Builder
	done := 0
	for at := 0; at < len(text); at++ {
		slash := strings.IndexByte(text[at:], '/')
		if slash < 0 {
			break
		}
		at += slash
		for _, p := range pairs {
			rest, ok := strings.CutPrefix(text[at:], p.from)
			if !ok || !ends(rest) || !starts(text[:at]) {
				continue
			}
			out.WriteString(text[done:at])
			out.WriteString(p.to)
			done = at + len(p.from)
			at = done - 1
			break
		}
	}
	if done == 0 {
		return text
	}
	out.WriteString(text[done:])
	return out.String()
}

// startsPath reports whether an absolute path can begin after this text: not in
// the middle of another path, but behind a short option such as -I.
func startsPath(before string) bool {
	if before == "" || !isPathByte(before[len(before)-1]) {
		return true
	}
	word := before[strings.LastIndexAny(before, " \t\r\n;&|(")+1:]
	return len(word) == 2 && word[0] == '-' && isNameByte(word[1])
}

// endsShellPath reports whether a root ends before this rest of a command.
func endsShellPath(rest string) bool {
	return rest == "" || strings.IndexByte("/ \t\r\n'\"`:;,&|()<>[]{}=\\#!", rest[0]) >= 0
}

// endsPath reports whether a path segment ends before this rest of a text. A
// full stop counts when nothing follows it that could belong to a name.
func endsPath(rest string) bool {
	if rest == "" || !isNameByte(rest[0]) && rest[0] != '.' {
		return true
	}
	return rest[0] == '.' && (len(rest) == 1 || !isNameByte(rest[1]) && rest[1] != '.')
}

func isNameByte(c byte) bool {
	return c == '_' || c == '-' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

func isPathByte(c byte) bool {
	return isNameByte(c) || strings.IndexByte("./~$}*?]", c) >= 0
}
