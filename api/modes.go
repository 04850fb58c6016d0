package api

import (
	"encoding/json"
	"slices"

	"github.com/labstack/echo/v4"

	"deerflow/internal/store"
	"deerflow/internal/thread"
)

// modeSet says which kinds of frames a reader wants.
type modeSet uint

const (
	modeValues modeSet = 1 << iota
	modeTuple
	modeUpdates
	modeCustom
	modeMessages
	modeTasks
	modeCheckpoints
	modeDebug
	// modeAlways marks frames that every reader gets.
	modeAlways
)

// modeNames are the stream modes of the API, in bit order.
func modeNames() []string {
	return []string{"values", "messages-tuple", "updates", "custom", "messages", "tasks", "checkpoints", "debug"}
}

// has reports whether frames of a mode are wanted.
func (m modeSet) has(mode modeSet) bool { return mode == modeAlways || m&mode != 0 }

// add puts a mode into the set by its name, if there is such a mode.
func (m *modeSet) add(name string) bool {
	i := slices.Index(modeNames(), name)
	if i < 0 {
		return false
	}
	*m |= 1 << i
	return true
}

// parseModes reads stream_mode: one name or a list; nothing means values.
func parseModes(body object) modeSet {
	raw := body.get("stream_mode")
	var names []string
	if raw != nil && raw[0] == '"' {
		names = []string{body.text("stream_mode")}
	} else {
		names = body.texts("stream_mode")
	}
	var modes modeSet
	for _, name := range names {
		if !modes.add(name) {
			body.fault("stream_mode", "literal_error", "Input should be %s, got %q", quotedList(modeNames()), thread.Prefix(name, 40))
		}
	}
	if modes == 0 {
		return modeValues
	}
	return modes
}

// queryModes reads the modes of a join; without any, those that the run was
// started with.
func queryModes(c echo.Context, run *store.Run) (modeSet, error) {
	names := queryList(c, "stream_mode")
	if len(names) == 0 {
		return startedModes(run), nil
	}
	body := object{loc: []any{"query"}, raw: map[string]json.RawMessage{}, errs: &[]fieldError{}}
	list, err := json.Marshal(names)
	if err != nil {
		return 0, err
	}
	body.raw["stream_mode"] = list
	modes := parseModes(body)
	return modes, body.err()
}

// startedModes are the modes that a run was started with; for one that was
// started without, what a page shows.
func startedModes(run *store.Run) modeSet {
	var kwargs struct {
		Modes json.RawMessage `json:"stream_mode"`
	}
	if json.Unmarshal(run.Kwargs, &kwargs) != nil || len(kwargs.Modes) == 0 {
		return modeValues | modeTuple | modeUpdates | modeCustom
	}
	return parseModes(object{raw: map[string]json.RawMessage{"stream_mode": kwargs.Modes}, errs: &[]fieldError{}})
}
