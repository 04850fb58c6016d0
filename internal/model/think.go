package model

import "strings"

// thinkTags are the tags with which models mark thinking inside their text.
var thinkTags = [...]string{"think", "thinking", "seed:think"}

// segment is a run of text for one of the two channels.
type segment struct {
	reasoning bool
	text      string
	// recast says that all text so far was reasoning: the closing tag came
	// without an opening one, which some templates put into the prompt.
	recast bool
}

// thinkSplitter takes thinking out of streamed text (A17). Tags may be cut
// anywhere. Tags inside code are text, and so is an opening tag in the middle
// of an answer that is never closed.
type thinkSplitter struct {
	buf   string // not decided yet
	lead  string // blank text before anything visible
	shown bool   // visible text was emitted
	saw   bool   // a tag was seen
	tag   string // the open tag, "" outside of thinking
	mid   *strings.Builder
	code  codeTracker
}

// push takes a piece and returns what is decided.
func (t *thinkSplitter) push(piece string) []segment {
	t.buf += piece
	return t.scan(false)
}

// finish returns the rest.
func (t *thinkSplitter) finish() []segment {
	out := t.scan(true)
	if t.mid != nil { // opened in the middle and never closed: it was only a word
		literal := "<" + t.tag + ">" + t.mid.String()
		t.mid, t.tag = nil, ""
		out = append(out, segment{text: literal})
	}
	if !t.saw && t.lead != "" {
		out = append(out, segment{text: t.lead})
	}
	t.lead = ""
	return out
}

func (t *thinkSplitter) scan(last bool) []segment {
	var out []segment
	for t.buf != "" {
		var n int
		var done bool
		if t.tag != "" {
			n, done = t.scanThinking(&out, last)
		} else {
			n, done = t.scanText(&out, last)
		}
		t.buf = t.buf[n:]
		if done {
			break
		}
	}
	return out
}

// scanThinking handles text inside of thinking. It returns how much is used up,
// and true when the rest has to wait for more.
func (t *thinkSplitter) scanThinking(out *[]segment, last bool) (int, bool) {
	closing := "</" + t.tag + ">"
	at := indexFold(t.buf, closing)
	if at >= 0 {
		t.reason(out, t.buf[:at])
		if t.mid != nil {
			*out = append(*out, segment{reasoning: true, text: t.mid.String()})
			t.mid = nil
		}
		t.tag = ""
		return at + len(closing), false
	}
	keep := 0
	if !last {
		keep = tailPrefix(t.buf, closing)
	}
	t.reason(out, t.buf[:len(t.buf)-keep])
	return len(t.buf) - keep, true
}

func (t *thinkSplitter) reason(out *[]segment, text string) {
	switch {
	case text == "":
	case t.mid != nil:
		t.mid.WriteString(text)
	default:
		*out = append(*out, segment{reasoning: true, text: text})
	}
}

// scanText handles text outside of thinking, up to the next tag.
func (t *thinkSplitter) scanText(out *[]segment, last bool) (int, bool) {
	for i := 0; i < len(t.buf); i++ {
		c := t.buf[i]
		if c == '`' {
			run := len(t.buf[i:]) - len(strings.TrimLeft(t.buf[i:], "`"))
			if i+run == len(t.buf) && !last {
				t.text(out, t.buf[:i])
				return i, true
			}
			t.code.ticks(run)
			i += run - 1
			continue
		}
		if c != '<' || t.code.inside() {
			t.code.char(c)
			continue
		}
		used, wait := t.tagAt(out, i, last)
		if wait {
			t.text(out, t.buf[:i])
			return i, true
		}
		if used > 0 {
			return used, false
		}
		t.code.char(c)
	}
	t.text(out, t.buf)
	return len(t.buf), true
}

// tagAt looks for a tag at position i. It returns how much of the buffer is used
// up with the tag (0: there is none) or that more text is needed to tell.
func (t *thinkSplitter) tagAt(out *[]segment, i int, last bool) (used int, wait bool) {
	rest := t.buf[i:]
	for _, tag := range thinkTags {
		opening, closing := "<"+tag+">", "</"+tag+">"
		switch {
		case hasPrefixFold(rest, opening):
			t.text(out, t.buf[:i])
			t.tag, t.saw = tag, true
			if t.shown {
				t.mid = &strings.Builder{}
			}
			return i + len(opening), false
		case hasPrefixFold(rest, closing):
			after := rest[len(closing):]
			if after == "" && !last {
				return 0, true
			}
			if !t.strayClose(t.buf[:i], after) {
				continue
			}
			t.text(out, t.buf[:i])
			*out = append(*out, segment{recast: true})
			t.saw, t.shown, t.lead = true, false, ""
			return i + len(closing), false
		case !last && (isPrefixFold(opening, rest) || isPrefixFold(closing, rest)):
			return 0, true
		}
	}
	return 0, false
}

// strayClose reports whether a closing tag without an opening one ends a
// thought: it is the first tag and stands at the beginning or the end of a line.
func (t *thinkSplitter) strayClose(before, after string) bool {
	if t.saw {
		return false
	}
	return !t.shown && blank(before) || t.code.newlines > 0 || after == "" || after[0] == '\n'
}

// text emits visible text; blanks at the very beginning wait, since they belong
// to a tag that may follow.
func (t *thinkSplitter) text(out *[]segment, text string) {
	if !t.shown {
		t.lead += text
		trimmed := strings.TrimLeft(t.lead, " \t\r\n")
		if trimmed == "" {
			return
		}
		text = t.lead
		if t.saw {
			text = trimmed
		}
		t.lead, t.shown = "", true
	}
	if text != "" {
		*out = append(*out, segment{text: text})
	}
}

// SplitThinking takes the thinking out of a complete text, for callers that
// read something from it (a title, JSON).
func SplitThinking(s string) (text, reasoning string) {
	var t thinkSplitter
	var visible, thought strings.Builder
	for _, seg := range append(t.push(s), t.finish()...) {
		switch {
		case seg.recast:
			thought.WriteString(visible.String())
			visible.Reset()
		case seg.reasoning:
			thought.WriteString(seg.text)
		default:
			visible.WriteString(seg.text)
		}
	}
	return visible.String(), thought.String()
}

// codeTracker knows whether the text is inside Markdown code.
type codeTracker struct {
	open     int // length of the run of backticks that opened it
	newlines int
}

func (c *codeTracker) inside() bool { return c.open > 0 }

// ticks takes a run of n backticks.
func (c *codeTracker) ticks(n int) {
	c.newlines = 0
	switch {
	case c.open == 0:
		c.open = n
	case n == c.open, c.open >= 3 && n > c.open:
		c.open = 0
	}
}

// char takes any other byte. A blank line ends inline code, so that one lone
// backtick does not hide the rest.
func (c *codeTracker) char(b byte) {
	switch b {
	case '\n':
		c.newlines++
		if c.newlines > 1 && c.open < 3 {
			c.open = 0
		}
	case ' ', '\t', '\r':
	default:
		c.newlines = 0
	}
}

func hasPrefixFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

// isPrefixFold reports whether s is a beginning of tag.
func isPrefixFold(tag, s string) bool { return len(s) < len(tag) && strings.EqualFold(tag[:len(s)], s) }

func indexFold(s, tag string) int {
	for from := 0; ; {
		i := strings.IndexByte(s[from:], tag[0])
		if i < 0 {
			return -1
		}
		if hasPrefixFold(s[from+i:], tag) {
			return from + i
		}
		from += i + 1
	}
}

// tailPrefix is the length of the longest end of s that begins tag.
func tailPrefix(s, tag string) int {
	for n := min(len(tag)-1, len(s)); n > 0; n-- {
		if strings.EqualFold(s[len(s)-n:], tag[:n]) {
			return n
		}
	}
	return 0
}
