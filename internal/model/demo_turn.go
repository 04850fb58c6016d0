package model

import (
	"fmt"
	"path"
	"regexp"
	"strings"

	"deerflow/internal/thread"
)

const (
	// demoLabel is the first thing that the demo says about every question.
	demoLabel = "I am the built-in demo model: a script that follows fixed steps, no AI."
	// maxDemoFiles is how many files the demo reads.
	maxDemoFiles = 6
	// maxDemoWrites ends the attempts to write a report.
	maxDemoWrites = 2
)

// What the demo asks, and what it offers.
const (
	demoQuestion = "Who is the report for, and how long should it be?"
	optionBrief  = "A short brief for a decision maker, about one page"
	optionFull   = "A detailed report for experts"
	optionPoints = "Key points only, for myself"
)

// demoScript decides the next turn of a pass.
type demoScript struct {
	*demoPass
	has map[string]bool // tools that may be called
}

// nextDemoTurn decides by what has been done, so that it never does a thing
// twice: asked, listed, read, written, presented, told.
func nextDemoTurn(req *Request) demoTurn {
	s := demoScript{demoPass: readPass(Repair(req.Messages)), has: map[string]bool{}}
	if !req.NoTools {
		for i := range req.Tools {
			s.has[req.Tools[i].Name] = true
		}
	}
	turn := s.next()
	if len(s.calls) == 0 {
		turn.text = strings.TrimSpace(s.opening(turn) + " " + turn.text)
	}
	return turn
}

func (s *demoScript) next() demoTurn {
	switch {
	case s.idle:
		return demoTurn{text: "There is nothing more to do until you ask something."}
	case s.question == "":
		return demoTurn{text: "Ask me a question, and upload text files if you have some: I will write a report that quotes them."}
	case s.has["ask_clarification"] && !s.everAsked && len(s.calls) == 0:
		return s.ask()
	}
	return s.work()
}

// work is the next step towards the report.
func (s *demoScript) work() demoTurn {
	due := func(tool string) bool { return s.has[tool] && s.call(tool) == nil }
	switch {
	case due("ls"):
		return demoTurn{"Let me see which files you have uploaded.", []demoCall{
			newDemoCall("ls", "description", "List the uploaded files", "path", uploadsDir),
		}}
	case due("read_file") && len(s.textFiles()) > 0:
		return s.read()
	case s.has["write_file"] && !s.written() && s.count("write_file") < maxDemoWrites:
		return s.write()
	case due("present_files") && s.written():
		return demoTurn{"", []demoCall{newDemoCall("present_files", "filepaths", []string{s.call("write_file").arg("path")})}}
	}
	return demoTurn{text: s.finalAnswer()}
}

// opening says what the demo is and what it is going to do.
func (s *demoScript) opening(turn demoTurn) string {
	if len(turn.calls) == 0 {
		return demoLabel
	}
	steps := []string{}
	for _, step := range []struct{ tool, text string }{
		{"ask_clarification", "ask you one question"},
		{"ls", "look at the files that you have uploaded"},
		{"read_file", "read them"},
		{"write_file", "write a report that quotes them"},
	} {
		if s.has[step.tool] && (step.tool != "ask_clarification" || !s.everAsked) {
			steps = append(steps, step.text)
		}
	}
	return fmt.Sprintf("%s My plan for “%s”: %s.", demoLabel, shorten(s.question, 120), strings.Join(steps, ", "))
}

func (s *demoScript) ask() demoTurn {
	return demoTurn{"", []demoCall{newDemoCall("ask_clarification",
		"question", demoQuestion,
		"clarification_type", "missing_info",
		"context", "The readers decide how much of the files the report should quote.",
		"options", []string{optionBrief, optionFull, optionPoints},
	)}}
}

func (s *demoScript) read() demoTurn {
	files, all := s.textFiles(), s.allTextFiles()
	which := pronoun(len(all))
	if len(all) > len(files) {
		which = fmt.Sprintf("%d of them", len(files))
	}
	turn := demoTurn{text: fmt.Sprintf("I found %s and read %s.", count(len(all), "text file"), which)}
	for _, f := range files {
		turn.calls = append(turn.calls, newDemoCall("read_file", "description", "Read "+path.Base(f), "path", f))
	}
	if words := tellingWords(s.question, maxGrepWords); s.has["grep"] && len(words) > 0 {
		turn.text += " I also search all of them for " + quoteList(words) + "."
		turn.calls = append(turn.calls, newDemoCall("grep",
			"description", "Search the uploads", "pattern", strings.Join(words, "|"), "path", uploadsDir))
	}
	return turn
}

func (s *demoScript) write() demoTurn {
	text := "Now I write the report."
	if s.count("write_file") > 0 {
		text = "The report could not be written there; I try another name."
	}
	return demoTurn{text, []demoCall{
		newDemoCall("write_file", "description", "Write the report", "path", s.reportPath(), "content", s.report()),
	}}
}

// reportPath is a name that no earlier report of the thread has.
func (s *demoScript) reportPath() string {
	name := "report"
	if s.reportsBefore > 0 {
		name = fmt.Sprintf("report-%d", s.reportsBefore+1)
	}
	if s.count("write_file") > 0 {
		name += "-second-try"
	}
	return outputsDir + "/" + name + ".md"
}

func (s *demoScript) written() bool {
	c := s.call("write_file")
	return c != nil && !c.failed
}

var sizeSuffix = regexp.MustCompile(`\s+\([^)]*\)$`)

// listed are the files that the listing of the uploads names.
func (s *demoScript) listed() []string {
	c := s.call("ls")
	if c == nil || c.failed {
		return nil
	}
	var files []string
	for line := range strings.Lines(c.result) {
		at := strings.Index(line, uploadsDir+"/")
		if at < 0 {
			continue
		}
		file := sizeSuffix.ReplaceAllString(strings.TrimSpace(line[at:]), "")
		if file != uploadsDir+"/" && !strings.HasSuffix(file, "/") {
			files = append(files, file)
		}
	}
	return files
}

// textFiles are the listed files that the demo reads.
func (s *demoScript) textFiles() []string {
	all := s.allTextFiles()
	return all[:min(len(all), maxDemoFiles)]
}

// allTextFiles are the listed files that the demo could read.
func (s *demoScript) allTextFiles() []string {
	var files []string
	for _, f := range s.listed() {
		switch strings.ToLower(path.Ext(f)) {
		case ".md", ".markdown", ".txt", ".csv", ".tsv", ".json", ".jsonl", ".yaml", ".yml", ".xml", ".html", ".htm",
			".rst", ".org", ".tex", ".srt", ".vtt", ".toml", ".ini", ".go", ".py", ".js", ".ts", ".sql", ".sh":
			files = append(files, f)
		}
	}
	return files
}

func shorten(text string, n int) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) <= n {
		return text
	}
	return thread.Prefix(text, n) + "…"
}

func count(n int, noun string) string {
	if n == 1 {
		return "one " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func pronoun(n int) string {
	if n == 1 {
		return "it"
	}
	return "them"
}

func quoteList(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = "“" + w + "”"
	}
	return strings.Join(quoted, ", ")
}
