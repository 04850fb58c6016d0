package e2e

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"deerflow/internal/testkit"
)

// patience bounds every wait: it is reached by a failure only.
const patience = 60 * time.Second

func patient(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// transcript is what a reader of the messages channel has on the screen.
type transcript struct {
	order []string
	text  map[string]string
	kind  map[string]string
}

// read applies frames as a client does: pieces are joined by id, a removal
// takes a message away.
func (tr *transcript) read(t *testing.T, frames ...testkit.Frame) {
	t.Helper()
	if tr.text == nil {
		tr.text, tr.kind = map[string]string{}, map[string]string{}
	}
	for _, f := range frames {
		if f.Event != "messages" {
			continue
		}
		var pair []struct {
			ID      string `json:"id"`
			Type    string `json:"type"`
			Content any    `json:"content"`
		}
		require.NoError(t, f.Decode(&pair), "%s", f.Data)
		m := pair[0]
		if m.Type == "remove" {
			delete(tr.text, m.ID)
			for i, id := range tr.order {
				if id == m.ID {
					tr.order = append(tr.order[:i:i], tr.order[i+1:]...)
				}
			}
			continue
		}
		if _, seen := tr.text[m.ID]; !seen {
			tr.order = append(tr.order, m.ID)
		}
		text, _ := m.Content.(string)
		tr.text[m.ID] += text
		tr.kind[m.ID] = strings.ToLower(strings.TrimSuffix(m.Type, "MessageChunk"))
	}
}

// of joins the texts of one kind of message, in order.
func (tr *transcript) of(kind string) []string {
	var out []string
	for _, id := range tr.order {
		if tr.kind[id] == kind {
			out = append(out, tr.text[id])
		}
	}
	return out
}

// noDoubles fails when an event id came twice.
func noDoubles(t *testing.T, frames []testkit.Frame) {
	t.Helper()
	seen := map[string]bool{}
	for _, f := range frames {
		if f.ID == "" || f.Event == "end" { // the end has no id of its own
			continue
		}
		require.False(t, seen[f.ID], "event %s came twice", f.ID)
		seen[f.ID] = true
	}
}

// messages are those of the thread's state.
func messages(t *testing.T, api *testkit.API, threadID string) []testkit.Message {
	t.Helper()
	state, err := api.State(patient(t), threadID)
	require.NoError(t, err)
	list, err := state.Values.Messages()
	require.NoError(t, err)
	return list
}

// shape lists types and texts, for comparing whole conversations.
func shape(list []testkit.Message) []string {
	var out []string
	for _, m := range list {
		out = append(out, m.Type+": "+m.Text())
	}
	return out
}

func readLines(t *testing.T, path string) []string {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	return strings.Split(string(data), "\n")
}

// onceAnswered asks until a question has been answered, then gives the other
// replies turn by turn. It looks at the request alone.
func onceAnswered(question testkit.Reply, then ...testkit.Reply) func(*testkit.Request) testkit.Reply {
	return func(r *testkit.Request) testkit.Reply {
		if !testkit.AnyMessage("my answer is: ")(r) {
			return question
		}
		return testkit.ByTurn(then...)(r)
	}
}
