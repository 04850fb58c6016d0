package agent

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"deerflow/internal/thread"
)

// KeyRule says which arguments make two calls of a tool the same call.
type KeyRule string

// The key rules.
const (
	// KeySalient uses path, url, query, command, pattern, glob and cmd where
	// they are present, all arguments otherwise.
	KeySalient KeyRule = ""
	// KeyAll uses every argument: a write with other content is another call.
	KeyAll KeyRule = "all"
	// KeyRange uses the path and a bucket of 200 lines, so that reading on by
	// one line is the same call.
	KeyRange KeyRule = "range"
)

const lineBucket = 200

var salientArgs = []string{"path", "url", "query", "command", "pattern", "glob", "cmd"}

// CallKey is equal for two calls that count as the same in loop detection. It
// is 12 hex digits, whatever the arguments' size, and does not depend on the
// order of keys.
func CallKey(rule KeyRule, call thread.ToolCall) string {
	args, ok := arguments(call.Args)
	if !ok {
		return hashKey(call.Name + ":" + string(call.Args))
	}
	switch rule {
	case KeyAll:
		return hashKey(call.Name + ":" + canonical(args, nil))
	case KeyRange:
		return hashKey(call.Name + ":" + rangeKey(args))
	case KeySalient:
	}
	if key := canonical(args, salientArgs); key != "{}" {
		return hashKey(call.Name + ":" + key)
	}
	return hashKey(call.Name + ":" + canonical(args, nil))
}

// arguments reads a call's arguments: an object, also one that was encoded
// twice; nothing at all is an empty one.
func arguments(raw json.RawMessage) (map[string]json.RawMessage, bool) {
	var args map[string]json.RawMessage
	var inner string
	if json.Unmarshal(raw, &inner) == nil {
		raw = json.RawMessage(inner)
	}
	if len(raw) == 0 {
		return args, true
	}
	err := json.Unmarshal(raw, &args)
	return args, err == nil
}

// canonical writes the chosen, non-null arguments (all when only is nil) with
// sorted keys.
func canonical(args map[string]json.RawMessage, only []string) string {
	kept := map[string]any{}
	take := func(name string) {
		raw, ok := args[name]
		if !ok || bytes.Equal(raw, []byte("null")) {
			return
		}
		// Numbers keep their digits: two large ids must not become one.
		decoder := json.NewDecoder(bytes.NewReader(raw))
		decoder.UseNumber()
		var v any
		if decoder.Decode(&v) == nil {
			kept[name] = v
		}
	}
	if only == nil {
		for name := range args {
			take(name)
		}
	}
	for _, name := range only {
		take(name)
	}
	text, err := json.Marshal(kept)
	if err != nil {
		return fmt.Sprint(kept)
	}
	return string(text)
}

func rangeKey(args map[string]json.RawMessage) string {
	var path string
	_ = json.Unmarshal(args["path"], &path) // a path that is no string counts as none
	start := lineArg(args["start_line"], 1)
	end := lineArg(args["end_line"], start)
	if end < start {
		start, end = end, start
	}
	return fmt.Sprintf("%s:%d-%d", path, (start-1)/lineBucket, (end-1)/lineBucket)
}

// lineArg reads a line number, also one that came as text.
func lineArg(raw json.RawMessage, fallback int) int {
	var text string
	if json.Unmarshal(raw, &text) != nil {
		text = string(raw)
	}
	n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || math.IsNaN(n) {
		return fallback
	}
	return int(min(max(n, 1), math.MaxInt32))
}

func hashKey(text string) string {
	sum := sha256.Sum256([]byte(strings.TrimSpace(text)))
	return hex.EncodeToString(sum[:6])
}

// HashKeys is one key for several calls of a message, in the order given.
func HashKeys(keys []string) string { return hashKey(strings.Join(keys, "|")) }

// Salient is the argument that tells a person most about a call, on one line;
// empty when there is none. args may be nil.
func Salient(args json.RawMessage) string {
	values, _ := arguments(args)
	for _, name := range salientArgs {
		var text string
		if json.Unmarshal(values[name], &text) == nil && text != "" {
			return strings.Join(strings.Fields(text), " ")
		}
	}
	return ""
}
