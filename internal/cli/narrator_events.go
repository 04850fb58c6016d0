package cli

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"deerflow/internal/thread"
)

// askTool is the tool that asks the person: its question is no progress.
const askTool = "ask_clarification"

// updates looks for whole messages, the title and the plan in the changes of a step.
func (n *Narrator) updates(data json.RawMessage) {
	var nodes map[string]json.RawMessage
	if json.Unmarshal(data, &nodes) != nil {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(nodes)) {
		var change struct {
			Messages []thread.Message `json:"messages"`
			Title    string           `json:"title"`
			Todos    []todo           `json:"todos"`
		}
		if json.Unmarshal(nodes[name], &change) != nil {
			continue
		}
		for _, m := range change.Messages {
			if m.Role == thread.RoleAI {
				n.whole(&m)
			}
		}
		if change.Title != "" && change.Title != n.title {
			n.title = change.Title
			n.Progress.Step(MarkNone, "title: "+n.title, "")
		}
		if line := planLine(change.Todos); line != "" && line != n.plan {
			n.plan = line
			n.Progress.Step(MarkNone, line, "")
		}
	}
}

// whole tells a message that is complete, with the calls whose pieces were not seen: they may be older than the events
// that are kept.
func (n *Narrator) whole(m *thread.Message) {
	n.finish(m.ID)
	for _, c := range m.ToolCalls {
		if c.ID != "" {
			n.call(c.ID, c.Name, c.Args)
		}
	}
}

// todo is one step of the agent's plan.
type todo struct {
	Content string `json:"content"`
	Status  string `json:"status"` // pending, in_progress or completed
}

func planLine(todos []todo) string {
	if len(todos) == 0 {
		return ""
	}
	done, now := 0, ""
	for _, t := range todos {
		switch {
		case t.Status == "completed":
			done++
		case t.Status == "in_progress" && now == "":
			now = " · now: " + t.Content
		}
	}
	return fmt.Sprintf("plan: %d of %d done%s", done, len(todos), now)
}

// custom tells the events of sub-agents and of the framework.
func (n *Narrator) custom(data json.RawMessage) {
	var e struct {
		Type        string          `json:"type"`
		Error       string          `json:"error"`
		Reason      string          `json:"reason"`
		Detector    string          `json:"detector"`
		Attempt     int             `json:"attempt"`
		MaxAttempts int             `json:"max_attempts"`
		WaitMS      int64           `json:"wait_ms"`
		Message     json.RawMessage `json:"message"`
	}
	if json.Unmarshal(data, &e) != nil {
		return
	}
	switch e.Type {
	case "task_running":
		n.subagent(e.Message)
	case "task_failed", "task_timed_out", "task_cancelled":
		n.Progress.Step(MarkWarn, "sub-agent "+strings.ReplaceAll(strings.TrimPrefix(e.Type, "task_"), "_", " "), e.Error)
	case "llm_retry":
		attempt := fmt.Sprintf("attempt %d", e.Attempt)
		if e.MaxAttempts > 0 {
			attempt += fmt.Sprintf(" of %d", e.MaxAttempts)
		}
		if wait := time.Duration(e.WaitMS) * time.Millisecond; wait > 0 {
			attempt += " in " + seconds(wait)
		}
		n.Progress.Step(MarkAgain, worded(e.Message, strings.TrimSuffix("the model is asked again: "+e.Reason, ": ")), attempt)
	case "summarization":
		n.Progress.Step(MarkNone, "the older part of the conversation was compacted", "")
	case "summarization_warning":
		n.Progress.Step(MarkWarn, worded(e.Message, "no model wrote a summary as it should"), "")
	case "safety_termination":
		n.Progress.Step(MarkWarn, "the provider's safety filter stopped the model", e.Detector)
	}
}

// worded is a message in the server's words, or ours when it has none.
func worded(message json.RawMessage, ours string) string {
	var text string
	if json.Unmarshal(message, &text) == nil && strings.TrimSpace(text) != "" {
		return text
	}
	return ours
}

// subagent tells the tools that a sub-agent calls.
func (n *Narrator) subagent(message json.RawMessage) {
	var m thread.Message
	if json.Unmarshal(message, &m) != nil {
		return
	}
	for _, c := range m.ToolCalls {
		n.Progress.Step(MarkNone, "sub-agent: "+c.Name+" "+About(c.Name, c.Args), "")
	}
}

// About says in a few words what a tool call is about, from its arguments.
func About(name string, args json.RawMessage) string {
	var a map[string]any
	if json.Unmarshal(args, &a) != nil {
		return ""
	}
	keys := map[string][]string{
		"bash":          {"command"},
		"glob":          {"pattern", "path"},
		"grep":          {"pattern", "path"},
		"present_files": {"filepaths"},
		"task":          {"description"},
		"web_fetch":     {"url"},
		"write_todos":   {},
	}
	names, known := keys[name]
	if !known {
		names = []string{"path", "query", "url", "description"}
	}
	var words []string
	for _, key := range names {
		words = append(words, argument(a[key])...)
		if !known && len(words) > 0 {
			break
		}
	}
	return Cut(Clean(strings.Join(words, " ")), 100)
}

// argument gives the words of an argument: a text, or a list of texts.
func argument(v any) []string {
	switch v := v.(type) {
	case string:
		return []string{shortPath(v)}
	case []any:
		var words []string
		for _, item := range v {
			words = append(words, argument(item)...)
		}
		return words
	}
	return nil
}

// shortPath leaves the thread's directories out of a path: they say nothing to a person.
func shortPath(s string) string {
	for _, dir := range []string{"workspace", "uploads", "outputs"} {
		if rest, ok := strings.CutPrefix(s, path.Join("/mnt/user-data", dir)+"/"); ok {
			return rest
		}
	}
	return s
}

// seconds writes a duration as people say it: 0.1s, 12.3s, 2m5s.
func seconds(d time.Duration) string {
	if d < time.Minute {
		return fmt.Sprintf("%.1fs", d.Seconds())
	}
	return d.Round(time.Second).String()
}
