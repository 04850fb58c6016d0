package soak

import (
	"fmt"
	"strings"
	"time"

	. "deerflow/internal/testkit"
)

// kinds are what a thread can be about; a hundred scripts have each several
// times.
var kinds = []string{"text", "tools", "question", "queue", "long", "stop", "tools", "question", "long", "text"}

const mayHaveRun = "may have run"

// answer is the model: what it says depends on the request alone, so a call that
// is made again gets the same answer.
func answer(r *Request) Reply {
	last := r.LastUser()
	if strings.Contains(last, "my answer is: ") {
		return Text("thanks for "+last[strings.Index(last, "my answer is: "):], WithChunks(3), WithDelay(10*time.Millisecond))
	}
	kind, name, _ := strings.Cut(last, " ")
	switch kind {
	case "tools":
		return ByTurn(ToolCalls(toolCalls(name)...), ToolCalls(effect(name, 4)), Text("done with tools "+name, WithChunks(4)))(r)
	case "question":
		return ToolCalls(Call{ID: "q-" + name, Name: "ask_clarification", Args: map[string]any{
			"question": "For whom is " + name + "?", "clarification_type": "missing_info",
		}})
	case "long", "stop":
		return Text(longText(name), WithChunks(100), WithDelay(40*time.Millisecond))
	}
	return Text("answer to "+last, WithChunks(5), WithDelay(20*time.Millisecond))
}

func longText(name string) string {
	var text strings.Builder
	for n := range 100 {
		fmt.Fprintf(&text, "%s-%d ", name, n)
	}
	return text.String()
}

// toolCalls are two commands with an effect, a read and a write, all at once.
func toolCalls(name string) []Call {
	return []Call{
		effect(name, 1), effect(name, 2),
		{ID: "ls-" + name, Name: "ls", Args: map[string]any{"description": "look", "path": "/mnt/user-data/uploads"}},
		{ID: "w-" + name, Name: "write_file", Args: map[string]any{
			"description": "append", "path": "/mnt/user-data/outputs/notes.md", "content": name + "\n", "append": true,
		}},
	}
}

// effect is a command that must not run twice: it appends its line in its middle.
func effect(name string, n int) Call {
	return Call{ID: fmt.Sprintf("b%d-%s", n, name), Name: "bash", Args: map[string]any{
		"description": "append a line", "command": fmt.Sprintf("sleep 0.2; echo %s-%d >> effects.txt; sleep 0.2; echo ran %s-%d", name, n, name, n),
	}}
}

// expected is what stands in a thread in the end. "bash" is for the result of a
// command, which has run or may have run; "part" for the start of a long text.
func expected(kind, name string) []string {
	human := "human: " + kind + " " + name
	switch kind {
	case "tools":
		return []string{
			human, "ai: ", "bash: " + name + "-1", "bash: " + name + "-2", "tool: (empty)", "tool: written",
			"ai: ", "bash: " + name + "-4", "ai: done with tools " + name,
		}
	case "question":
		return []string{
			human, "ai: ", "tool: For whom is " + name + "?",
			"human: For your clarification \"For whom is " + name + "?\", my answer is: everybody", "ai: thanks for my answer is: everybody",
		}
	case "queue":
		return []string{
			human, "ai: answer to queue " + name, "human: second " + name, "ai: answer to second " + name, "human: third " + name, "ai: answer to third " + name,
		}
	case "long":
		return []string{human, "ai: " + longText(name)}
	case "stop":
		return []string{human, "part: " + longText(name), "human: after " + name, "ai: answer to after " + name}
	}
	return []string{human, "ai: answer to text " + name}
}
