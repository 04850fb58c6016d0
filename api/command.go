package api

import (
	"encoding/json"
	"slices"

	"deerflow/internal/thread"
)

// command is what a run may bring beside an input (spec: Command).
type command struct {
	resume   json.RawMessage // the answer to an interrupt; nil for none
	messages json.RawMessage // of update; nil for none
}

// parseCommand reads the command of a run. An update may bring messages, as an
// input does; other channels are changed by updating the state. A goto may name
// the node at which every run begins.
func parseCommand(body object) command {
	child := body.child("command")
	c := command{resume: child.get("resume"), messages: updateMessages(child)}
	if node, known := gotoNode(child); !known {
		child.fault("goto", "unsupported", "A run always goes on at 'model', got %s", thread.Prefix(node, 80))
	}
	return c
}

// updateMessages reads the messages of command.update, which is an object or a
// list of pairs.
func updateMessages(child object) json.RawMessage {
	raw := child.get("update")
	if raw == nil {
		return nil
	}
	channels := map[string]json.RawMessage{}
	if raw[0] == '[' {
		var pairs [][2]json.RawMessage
		child.decode("update", "list_type", "object or list of pairs", &pairs)
		for _, pair := range pairs {
			var name string
			if json.Unmarshal(pair[0], &name) != nil {
				child.fault("update", "value_error", "A pair should be a channel and its value")
				continue
			}
			channels[name] = pair[1]
		}
	} else {
		child.decode("update", "dict_type", "object or list of pairs", &channels)
	}
	messages := channels["messages"]
	delete(channels, "messages")
	if len(channels) > 0 {
		child.fault("update", "unsupported", "A run can only add messages; change other channels by POST /threads/{thread_id}/state")
	}
	return messages
}

// gotoNode reports whether command.goto names nothing, or the node at which runs
// begin; else what it names.
func gotoNode(child object) (node string, known bool) {
	raw := child.get("goto")
	if raw == nil {
		return "", true
	}
	var list []string
	if raw[0] == '"' {
		list = []string{child.text("goto")}
	} else if json.Unmarshal(raw, &list) != nil {
		return string(raw), false
	}
	elsewhere := slices.IndexFunc(list, func(name string) bool { return name != nodeModel })
	if elsewhere < 0 {
		return "", true
	}
	return list[elsewhere], false
}
