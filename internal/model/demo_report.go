package model

import (
	"cmp"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// quote is a line of a file, with those after it that its sentence goes on in.
type quote struct {
	file  string   // base name
	line  int      // from 1
	lines []string // as they stand in the file
	text  string   // of them, in one
	score int
}

// last is the number of the last line.
func (q quote) last() int { return q.line + max(len(q.lines), 1) - 1 }

func (q quote) source() string {
	if q.last() > q.line {
		return fmt.Sprintf("`%s`, lines %d-%d", plainName(q.file), q.line, q.last())
	}
	return fmt.Sprintf("`%s`, line %d", plainName(q.file), q.line)
}

// block is the quote as Markdown sets it off, line by line as in the file.
func (q quote) block() string {
	return "> " + strings.Join(q.lines, "\n> ") + "\n>\n> — " + q.source()
}

// plainName keeps a file's name from ending the code span that it stands in.
func plainName(name string) string { return strings.ReplaceAll(name, "`", "'") }

const (
	maxNamed    = 10  // files in a list
	maxQuoted   = 400 // bytes of a line that are quoted
	maxWords    = 12  // words of the question that lines are chosen by
	briefQuotes = 3   // per file
	fullQuotes  = 8
	shortQuotes = 3 // in all, at the top
	keyPoints   = 6 // the same when nothing else is wanted
)

// readFiles are the files that were read, in the order of the calls.
func (s *demoScript) readFiles() []passCall {
	var files []passCall
	for _, c := range s.calls {
		if c.tool == "read_file" && !c.failed {
			files = append(files, c)
		}
	}
	return files
}

// quotes are the lines of a file that have most of the question's words, in the
// order of the file. A file without any is represented by its first lines.
func (s *demoScript) quotes(file passCall, n int) []quote {
	words := tellingWords(s.question, maxWords)
	name := path.Base(file.arg("path"))
	source := strings.Split(strings.TrimSuffix(file.result, "\n"), "\n")
	var all []quote
	code := false
	for i, line := range source {
		text := strings.TrimSpace(line)
		fence := strings.HasPrefix(text, "```")
		code = code != fence
		if text == "" || text == emptyResult || text == "(empty)" {
			continue
		}
		score := relevance(text, words)
		if question := strings.TrimSpace(s.question); len(strings.Fields(question)) > 3 && strings.Contains(text, question) {
			score = 0 // the question itself answers nothing
		}
		if code || fence {
			score = min(score, scoreHeading) // commands and such say little
		}
		all = append(all, quote{file: name, line: i + 1, score: score})
	}
	best := slices.Clone(all)
	slices.SortStableFunc(best, func(a, b quote) int { return cmp.Compare(b.score, a.score) })
	best = best[:min(n, len(best))]
	if len(best) > 0 && best[0].score > 0 {
		best = slices.DeleteFunc(best, func(q quote) bool { return q.score == 0 })
	} else {
		best = best[:min(2, len(best))]
	}
	slices.SortFunc(best, func(a, b quote) int { return cmp.Compare(a.line, b.line) })
	return wholeSentences(best, source, words)
}

var grepLine = regexp.MustCompile(`(?m)^\s*(` + uploadsDir + `/[^\n]+?):(\d+):[ \t]?(.*)$`)

// grepHits are the lines that the search found.
func (s *demoScript) grepHits() []quote {
	c := s.call("grep")
	if c == nil || c.failed {
		return nil
	}
	var hits []quote
	for _, m := range grepLine.FindAllStringSubmatch(c.result, -1) {
		if n, err := strconv.Atoi(m[2]); err == nil {
			text := shorten(m[3], maxQuoted)
			hits = append(hits, quote{file: path.Base(m[1]), line: n, lines: []string{text}, text: text})
		}
	}
	return hits
}

// style is how much the answer to the demo's question asks for.
func (s *demoScript) style() (perFile int, points bool) {
	answer := strings.ToLower(s.answer)
	switch {
	case containsAny(answer, []string{"key point", "bullet", "points only", "summary only"}):
		return briefQuotes, true
	case containsAny(answer, []string{"detail", "expert", "long", "full", "thorough"}):
		return fullQuotes, false
	}
	return briefQuotes, false
}

// report is the report in Markdown.
func (s *demoScript) report() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Report: %s\n\n", shorten(s.question, 100))
	b.WriteString("> Written by the built-in demo model, a script without AI. It quotes lines that share words with the question; it draws no conclusions.\n\n")
	fmt.Fprintf(&b, "## Question\n\n%s\n\n", s.question)
	if s.asked != "" {
		answer := s.answer
		if answer == "" {
			answer = "no answer was given, so a short report was written"
		}
		fmt.Fprintf(&b, "## Clarification\n\n- Asked: %s\n- Answered: %s\n\n", s.asked, answer)
	}
	s.writeSources(&b)
	s.writeFindings(&b)
	s.writeLimits(&b)
	return b.String()
}

func (s *demoScript) writeSources(b *strings.Builder) {
	b.WriteString("## Sources\n\n")
	files := s.readFiles()
	if len(files) == 0 {
		b.WriteString(s.noFiles() + "\n\n")
		return
	}
	b.WriteString("| File | Lines |\n| --- | ---: |\n")
	for _, f := range files {
		name := strings.ReplaceAll(plainName(path.Base(f.arg("path"))), "|", `\|`)
		fmt.Fprintf(b, "| `%s` | %d |\n", name, lines(f.result))
	}
	b.WriteString("\n")
}

func lines(text string) int {
	n := 0
	for range strings.Lines(text) {
		n++
	}
	return n
}

// noFiles says honestly why nothing was read.
func (s *demoScript) noFiles() string {
	switch c := s.call("ls"); {
	case c == nil:
		return "No files were looked at: this run has no tool for it."
	case c.failed:
		return "No files were read: the uploads could not be listed (" + shorten(c.result, 200) + ")."
	case len(s.listed()) == 0:
		return "No files were uploaded to this conversation, so there is nothing to quote."
	case len(s.textFiles()) == 0:
		return "None of the uploaded files is a text file that the demo can read: " + s.names(s.listed()) + "."
	}
	return "The uploaded files could not be read: " + s.names(s.textFiles()) + "."
}

// names lists files, the first of many.
func (*demoScript) names(files []string) string {
	var names []string
	for _, f := range files[:min(len(files), maxNamed)] {
		names = append(names, "`"+plainName(path.Base(f))+"`")
	}
	if more := len(files) - maxNamed; more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(names, ", ")
}

func (s *demoScript) writeFindings(b *strings.Builder) {
	files := s.readFiles()
	if len(files) == 0 {
		return
	}
	perFile, points := s.style()
	short := shortQuotes
	if points {
		short = keyPoints
	}
	b.WriteString("## In short\n\n")
	for _, q := range s.topQuotes(short) {
		fmt.Fprintf(b, "- “%s” (%s)\n", q.text, q.source())
	}
	b.WriteString("\n")
	if !points {
		b.WriteString("## Findings\n\n")
		for _, f := range files {
			fmt.Fprintf(b, "### `%s`\n\n", plainName(path.Base(f.arg("path"))))
			for _, q := range s.quotes(f, perFile) {
				b.WriteString(q.block() + "\n\n")
			}
		}
	}
	s.writeHits(b, perFile)
}

// writeHits lists what the search found beyond the quotes.
func (s *demoScript) writeHits(b *strings.Builder, perFile int) {
	files := s.readFiles()
	quoted := make([]quote, 0, perFile*len(files))
	for _, f := range files {
		quoted = append(quoted, s.quotes(f, perFile)...)
	}
	more := slices.DeleteFunc(s.grepHits(), func(hit quote) bool {
		return slices.ContainsFunc(quoted, func(q quote) bool {
			return q.file == hit.file && q.line <= hit.line && hit.line <= q.last()
		})
	})
	if len(more) == 0 {
		return
	}
	fmt.Fprintf(b, "## More places with %s\n\n", quoteList(tellingWords(s.question, maxGrepWords)))
	for _, q := range more[:min(len(more), 2*fullQuotes)] {
		fmt.Fprintf(b, "- %s: %s\n", q.source(), q.text)
	}
	b.WriteString("\n")
}

func (s *demoScript) writeLimits(b *strings.Builder) {
	b.WriteString("## Limits\n\n")
	fmt.Fprintf(b, "Lines were chosen by these words of the question: %s. ", orNone(quoteList(tellingWords(s.question, maxWords))))
	if left := s.unread(); len(left) > 0 {
		fmt.Fprintf(b, "Not read: %s. ", s.names(left))
	}
	b.WriteString("For an answer that is thought through, configure a real model.\n")
}

// unread are the listed files that were not read.
func (s *demoScript) unread() []string {
	read := map[string]bool{}
	for _, f := range s.readFiles() {
		read[f.arg("path")] = true
	}
	return slices.DeleteFunc(s.listed(), func(file string) bool { return read[file] })
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

// topQuotes are the n best lines of all files. Headings and links are among them
// only when nothing else has the question's words.
func (s *demoScript) topQuotes(n int) []quote {
	files := s.readFiles()
	all := make([]quote, 0, n*len(files))
	for _, f := range files {
		all = append(all, s.quotes(f, n)...)
	}
	slices.SortStableFunc(all, func(a, b quote) int { return cmp.Compare(b.score, a.score) })
	if len(all) > 0 && all[0].score > scoreHeading {
		all = slices.DeleteFunc(all, func(q quote) bool { return q.score <= scoreHeading })
	}
	return all[:min(n, len(all))]
}

// finalAnswer sums up in a few sentences, and has the findings in it when there
// is no file to point to.
func (s *demoScript) finalAnswer() string {
	var b strings.Builder
	files := s.readFiles()
	if len(files) == 0 {
		b.WriteString(s.noFiles())
	} else {
		fmt.Fprintf(&b, "I read %s", count(len(files), "file"))
		if top := s.topQuotes(1); len(top) > 0 && top[0].score > scoreHeading {
			fmt.Fprintf(&b, ". Closest to your question is “%s” (%s)", top[0].text, top[0].source())
		} else {
			b.WriteString(" and found no sentence with the words of your question")
		}
		b.WriteString(".")
	}
	if s.written() {
		fmt.Fprintf(&b, " The report is in %s.", s.call("write_file").arg("path"))
	} else {
		if c := s.call("write_file"); c != nil {
			fmt.Fprintf(&b, " The report could not be saved (%s).", shorten(c.result, 200))
		}
		for _, q := range s.topQuotes(keyPoints) {
			b.WriteString("\n\n" + q.block())
		}
	}
	if len(s.calls) > 0 {
		b.WriteString("\n\nThis answer comes from the demo script, not from an AI.")
	}
	return b.String()
}
