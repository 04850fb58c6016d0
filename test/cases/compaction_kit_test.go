package cases

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	. "deerflow/internal/testkit"
)

// ofModel adds lines to the model's entry of a config.
func ofModel(config string, lines ...string) string {
	return strings.Replace(config, "sandbox:\n", "    "+strings.Join(lines, "\n    ")+"\nsandbox:\n", 1)
}

// summarization is the section that compacts at a trigger and keeps so much.
func summarization(trigger, keep string, more ...string) string {
	return fmt.Sprintf("summarization:\n  enabled: true\n  trigger: [%s]\n  keep: %s\n%s", trigger, keep, strings.Join(more, "\n"))
}

// asksForSummary tells the requests of the summariser: no other has no tools.
func asksForSummary(r *Request) bool { return len(r.Tools) == 0 }

// userTexts are what the user messages of a request say.
func userTexts(r *Request) []string {
	var texts []string
	for _, m := range r.Messages {
		if m.Role == "user" {
			texts = append(texts, m.Text())
		}
	}
	return texts
}

func all(r *Request) string {
	var b strings.Builder
	for _, m := range r.Messages {
		b.WriteString(m.Text() + "\n")
	}
	return b.String()
}

// converse sends texts, one run each, and demands success.
func converse(t *testing.T, api *API, id string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		r := run(t, api, id, text)
		require.Equal(t, "success", r.Status, "after %.40q", text)
	}
}
