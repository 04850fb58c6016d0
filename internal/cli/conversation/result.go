package conversation

import (
	"encoding/json"
	"path"
	"slices"
	"strings"

	"deerflow/internal/client"
	"deerflow/internal/thread"
)

// StatusWaiting is the status of a result whose thread waits for a person; the others are those of a run.
const StatusWaiting = "waiting"

// Result is what a conversation prints as JSON.
type Result struct {
	ThreadID   string        `json:"thread_id"`
	RunID      string        `json:"run_id"`
	Status     string        `json:"status"`                // success, error, timeout, interrupted, waiting; pending or running when it was left
	StopReason string        `json:"stop_reason,omitempty"` // why it ended before the model was done
	Answer     string        `json:"answer"`
	Files      []File        `json:"files"`
	Question   *thread.Card  `json:"question,omitempty"`  // the first open question of a waiting thread
	Questions  []thread.Card `json:"questions,omitempty"` // all of them
	Error      string        `json:"error,omitempty"`
	Usage      Usage         `json:"usage"`
	// Citations tell what those of the answer and the files rest on; nil when nothing was cited.
	Citations *client.Citations `json:"citations,omitempty"`
}

// File is one that the agent presented.
type File struct {
	Path string `json:"path"` // where the agent sees it
	Name string `json:"name"`
	Size int64  `json:"size"` // bytes; -1: unknown
	MIME string `json:"mime,omitempty"`
	Text string `json:"text,omitempty"` // of text files up to 8 MiB
}

// Usage counts the tokens and model calls of the runs of a conversation.
type Usage struct {
	InputTokens  int `json:"input_tokens"`
	OutputTokens int `json:"output_tokens"`
	TotalTokens  int `json:"total_tokens"`
	ModelCalls   int `json:"model_calls"`
}

func usageOf(r *client.Run) Usage {
	return Usage{InputTokens: r.InputTokens, OutputTokens: r.OutputTokens, TotalTokens: r.TotalTokens, ModelCalls: r.ModelCalls}
}

func (u *Usage) add(v Usage) {
	u.InputTokens += v.InputTokens
	u.OutputTokens += v.OutputTokens
	u.TotalTokens += v.TotalTokens
	u.ModelCalls += v.ModelCalls
}

// waits reports whether the run has ended with a question.
func (c *conversation) waits() bool {
	return c.run.Status.Terminal() && len(c.state.Questions()) > 0
}

// result gathers what is known of the newest run.
func (c *conversation) result() Result {
	r := Result{
		ThreadID: c.threadID, RunID: c.run.ID, Status: string(c.run.Status), StopReason: c.run.StopReason, Files: []File{}, Citations: c.run.Citations,
	}
	for _, u := range c.usage {
		r.Usage.add(u)
	}
	if c.waits() {
		r.Status = StatusWaiting
		for _, q := range c.state.Questions() {
			r.Questions = append(r.Questions, q.Value)
		}
		r.Question = &r.Questions[0]
	}
	turn := lastTurn(c.state.Values.Messages)
	answer := lastAnswer(turn)
	if answer != nil {
		r.Answer = strings.TrimSpace(answer.Content.String())
	}
	if c.run.Status == thread.RunError || c.run.Status == thread.RunTimeout {
		r.Error = failureOf(answer, c.run.Error, c.failure)
		if answer != nil && isFallback(answer) {
			r.Answer = ""
		}
	}
	for _, file := range c.state.Values.Artifacts {
		if slices.Contains(c.presented, file) || wasPresented(turn, file) {
			r.Files = append(r.Files, File{Path: file, Name: path.Base(file), Size: -1})
		}
	}
	return r
}

// lastTurn is what has happened since the person's last visible message: hidden ones answer questions on the way.
func lastTurn(messages []thread.Message) []thread.Message {
	for i := len(messages) - 1; i >= 0; i-- {
		if m := &messages[i]; m.Role == thread.RoleHuman && !m.Hidden() {
			return messages[i+1:]
		}
	}
	return messages
}

// lastAnswer is the AI message that the turn ended with, nil when it ended with something else.
func lastAnswer(turn []thread.Message) *thread.Message {
	for i := len(turn) - 1; i >= 0; i-- {
		m := &turn[i]
		switch {
		case m.Hidden() && m.Role == thread.RoleHuman:
			continue
		case m.Role == thread.RoleAI && m.CallCount() == 0:
			return m
		default:
			return nil
		}
	}
	return nil
}

func isFallback(m *thread.Message) bool {
	fallback, _ := m.AdditionalKwargs[thread.KeyErrorFallback].(bool)
	return fallback
}

// failureOf is the best description of a failure: that of the message which stands in for a failed model call, that of
// the run, that of its stream.
func failureOf(answer *thread.Message, others ...string) string {
	var texts []string
	if answer != nil && isFallback(answer) {
		detail, _ := answer.AdditionalKwargs[thread.KeyErrorDetail].(string)
		texts = append(texts, strings.TrimSpace(answer.Content.String()), detail)
	}
	for _, text := range append(texts, others...) {
		if text != "" {
			return text
		}
	}
	return "the server gives no reason"
}

// presentTool is the tool by which an agent presents files.
const presentTool = "present_files"

// wasPresented reports whether a call in the turn presented a file. The agent may have named it by another spelling of
// its path.
func wasPresented(turn []thread.Message, file string) bool {
	for i := range turn {
		for _, call := range turn[i].ToolCalls {
			var args struct {
				Paths []string `json:"filepaths"`
			}
			if call.Name != presentTool || json.Unmarshal(call.Args, &args) != nil {
				continue
			}
			for _, given := range args.Paths {
				if path.Base(given) == path.Base(file) {
					return true
				}
			}
		}
	}
	return false
}
