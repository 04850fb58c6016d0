package synopsis

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// describe finds out what kind of text it is.
func describe(text string) outline {
	if len(text) > maxInput {
		text = strings.ToValidUTF8(text[:maxInput], "")
	}
	if binary(text) {
		return outline{kind: "binary"}
	}
	for _, look := range []func(string) (outline, bool){jsonOutline, xmlOutline, tableOutline, codeOutline, yamlOutline} {
		if about, ok := look(text); ok {
			return about
		}
	}
	return textOutline(text)
}

// binary reports whether a text is none: many characters that no text has.
func binary(text string) bool {
	const looked = 8192
	odd, all := 0, 0
	for _, r := range prefix(text, looked) {
		all++
		if r == utf8.RuneError || unicode.IsControl(r) && r != '\n' && r != '\r' && r != '\t' && r != '\x1b' {
			odd++
		}
	}
	return odd*10 > all
}

var (
	heading = regexp.MustCompile(`^#{1,6}\s+\S`)
	notable = regexp.MustCompile(`(?i)\b(?:error|errors|failed|failure|fatal|panic|exception|traceback|warning)\b`)
)

// opening is the part of a text that is looked at line by line.
func opening(text string) string {
	const looked = 1 << 20 // bytes
	if len(text) <= looked {
		return text
	}
	return text[:strings.LastIndexByte(text[:looked], '\n')+1]
}

// textOutline tells headings, and lines about something that went wrong.
func textOutline(text string) outline {
	about := outline{kind: "text"}
	number, found := 0, 0
	for l := range strings.Lines(opening(text)) {
		number++
		l = strings.TrimSpace(l)
		switch {
		case l == "":
		case heading.MatchString(prefix(l, maxLineText)):
			about.structure = append(about.structure, fmt.Sprintf("line %d: %s", number, prefix(l, maxLineText)))
		case notable.MatchString(prefix(l, 4*maxLineText)):
			if found++; found <= maxNotable {
				about.notable = append(about.notable, fmt.Sprintf("line %d: %s", number, prefix(l, maxLineText)))
			}
		}
	}
	if len(about.structure) > 0 {
		about.kind = "text with headings"
		_, title, _ := strings.Cut(about.structure[0], ": ")
		about.title = strings.TrimLeft(title, "# ")
	}
	if found > maxNotable {
		about.structure = append(about.structure, fmt.Sprintf("at least %d lines speak of errors or warnings", found))
	}
	return about
}

// program matches the lines that code is told by, with the name that they give.
var program = []struct {
	what    string
	pattern *regexp.Regexp
}{
	{"import", regexp.MustCompile(`^(?:import\s+[\w."{*]|from\s+[\w.]+\s+import\s|#include\s*[<"]|use\s+[\w:]+;|package\s+\w+;?$|require\(|(?:const|let|var)\s+\w+\s*=\s*require\()`)},
	{"symbol", regexp.MustCompile(`^(?:export\s+|pub(?:lic)?\s+|private\s+|static\s+|async\s+|abstract\s+|default\s+)*(?:def|func|fn|function|class|interface|struct|enum|trait|impl|type)\s+[\w(<*]`)},
}

// codeOutline tells imports and symbols. It takes a few of them to be code.
func codeOutline(text string) (outline, bool) {
	about := outline{kind: "code"}
	number, imports, symbols := 0, 0, 0
	for l := range strings.Lines(opening(text)) {
		number++
		l = strings.TrimRight(prefix(l, maxLineText), " \r\n")
		bare := strings.TrimLeft(l, " \t")
		for _, p := range program {
			if !p.pattern.MatchString(bare) {
				continue
			}
			if p.what == "import" {
				imports++
			} else {
				symbols++
			}
			about.structure = append(about.structure, fmt.Sprintf("line %d: %s", number, bare))
			break
		}
	}
	if symbols < 2 || imports+symbols < 3 || (imports+symbols)*60 < number {
		return outline{}, false
	}
	about.title = fmt.Sprintf("%d imports, %d definitions", imports, symbols)
	return about, true
}
