package threads

import (
	"fmt"
	"strings"
	"time"

	"deerflow/internal/cli"
	"deerflow/internal/client"
	"deerflow/internal/thread"
)

// statusWords are what people call the statuses of the API.
func statusWords(s thread.Status) string {
	switch s {
	case thread.StatusBusy:
		return "working"
	case thread.StatusInterrupted:
		return "waiting for you"
	case thread.StatusError:
		return "failed"
	case thread.StatusIdle:
		return "done"
	}
	return string(s)
}

// ParseStatus reads a status, in the words of people or of the API; "" is all of them.
func ParseStatus(text string) (thread.Status, error) {
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "", "all":
		return "", nil
	case "working", "running", "busy":
		return thread.StatusBusy, nil
	case "waiting", "waiting for you", "interrupted":
		return thread.StatusInterrupted, nil
	case "failed", "error":
		return thread.StatusError, nil
	case "done", "idle":
		return thread.StatusIdle, nil
	}
	return "", cli.Exitf(cli.ExitUsage, "--status %q: use waiting, working, done or failed", text)
}

// age says how long ago something was, as short as it can be said.
func age(now, then time.Time) string {
	d := now.Sub(then)
	switch {
	case then.IsZero():
		return "-"
	case d < time.Minute:
		return "now"
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	case d < 60*24*time.Hour:
		return fmt.Sprintf("%dd", int(d.Hours()/24))
	}
	return then.Local().Format(time.DateOnly)
}

// titleOf is the title of a thread, or its first question on one line; empty for a thread in which nothing was said.
func titleOf(v *client.Values) string {
	if title := cli.Clean(v.Title); title != "" {
		return title
	}
	for i := range v.Messages {
		if m := &v.Messages[i]; m.Role == thread.RoleHuman && !m.Hidden() {
			return cli.Clean(m.Content.String())
		}
	}
	return ""
}
