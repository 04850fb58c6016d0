package documents

import (
	"errors"
	"regexp"
	"strings"
)

// errFull ends a conversion whose text is long enough; what there is counts.
var errFull = errors.New("the text is long enough")

// markdown writes blocks, each with an empty line behind it; items of a list
// stand close together.
type markdown struct {
	b    strings.Builder
	list bool // the last block was an item
}

// full is errFull once nothing more has to be written.
func (m *markdown) full() error {
	if m.b.Len() > maxOutput {
		return errFull
	}
	return nil
}

func (m *markdown) block(text string) {
	if text == "" || m.full() != nil {
		return
	}
	if m.b.Len() > 0 {
		m.b.WriteString("\n")
	}
	m.list = false
	m.b.WriteString(text)
	m.b.WriteString("\n")
}

func (m *markdown) heading(level int, text string) {
	if text = oneLine(text); text != "" {
		m.block(strings.Repeat("#", min(max(level, 1), 6)) + " " + text)
	}
}

func (m *markdown) paragraph(text string) { m.block(plain(text)) }

// item is one of a list; marker is "-" or "3.".
func (m *markdown) item(depth int, marker, text string) {
	if text = oneLine(text); text == "" || m.full() != nil {
		return
	}
	if m.b.Len() > 0 && !m.list {
		m.b.WriteString("\n")
	}
	m.list = true
	m.b.WriteString(strings.Repeat("  ", min(max(depth, 0), 8)) + marker + " " + text + "\n")
}

// table writes rows, the first of which is the head. Columns that are empty in
// all rows are left out.
func (m *markdown) table(rows [][]string) {
	rows = trimTable(rows)
	if len(rows) == 0 {
		return
	}
	var b strings.Builder
	for i, row := range rows {
		if m.b.Len()+b.Len() > maxOutput {
			break
		}
		for _, cell := range row {
			b.WriteString("| " + tableCell(cell) + " ")
		}
		b.WriteString("|\n")
		if i == 0 {
			b.WriteString(strings.Repeat("| --- ", len(row)) + "|\n")
		}
	}
	m.block(strings.TrimSuffix(b.String(), "\n"))
}

// trimTable makes all rows equally long, without empty rows at the ends and
// without columns that have nothing.
func trimTable(rows [][]string) [][]string {
	var used []bool
	first, last := -1, -1
	for i, row := range rows {
		for j, cell := range row {
			if strings.TrimSpace(cell) == "" {
				continue
			}
			for len(used) <= j {
				used = append(used, false)
			}
			used[j] = true
			if last = i; first < 0 {
				first = i
			}
		}
	}
	if first < 0 {
		return nil
	}
	out := make([][]string, 0, last-first+1)
	for _, row := range rows[first : last+1] {
		var kept []string
		for j, u := range used {
			switch {
			case !u:
			case j < len(row):
				kept = append(kept, row[j])
			default:
				kept = append(kept, "")
			}
		}
		out = append(out, kept)
	}
	return out
}

func tableCell(s string) string {
	s = strings.ReplaceAll(strings.TrimSpace(s), "|", `\|`)
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r == '\n' || r == '\r' }), "<br>")
}

func (m *markdown) String() string { return m.b.String() }

// marks are what a line of plain text would become a heading, a quote or a
// fence by.
var marks = regexp.MustCompile("(?m)^( {0,3})(#{1,6}[ \\t]|>|```|~~~|<!--)")

// plain is text that stays text in Markdown.
func plain(text string) string {
	text = strings.Trim(text, "\n\r\t ")
	return plainLine(text)
}

// plainLine is plain with the spaces around the text kept.
func plainLine(line string) string { return marks.ReplaceAllString(line, `$1\$2`) }

// oneLine is text without line breaks.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
