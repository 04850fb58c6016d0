package thread

import "encoding/json"

// MaxDigestText is how many bytes of a message's text its digest keeps.
const MaxDigestText = 256

// MaxDigestName is how many bytes of a tool's name a digest keeps: twice what a
// name may have, so that no cut name is the name of a tool.
const MaxDigestName = 128

// MaxDigestArgs is the size up to which a digest keeps a call's arguments.
const MaxDigestArgs = 256

// Digest is what a workflow knows of a message: enough for middlewares to
// decide, never the body, so that history does not grow with the transcript.
type Digest struct {
	ID     string       `json:"id"`
	Role   Role         `json:"role"`
	Name   string       `json:"name,omitempty"`
	Pos    int64        `json:"pos"`
	Tokens int          `json:"tokens,omitempty"` // about what it weighs in a request
	Size   int          `json:"size,omitempty"`   // bytes of its visible text
	Hidden bool         `json:"hidden,omitempty"`
	Empty  bool         `json:"empty,omitempty"` // no visible text
	Text   string       `json:"text,omitempty"`  // first bytes of the visible text
	Calls  []CallDigest `json:"calls,omitempty"`
	CallID string       `json:"call_id,omitempty"` // of a tool message
	Error  bool         `json:"error,omitempty"`   // a tool message with an error
	// Day is the ISO date that its context tells, if it does.
	Day string `json:"day,omitempty"`
	// Answer: it carries a structured answer to a question, so that it is user
	// text although it is hidden.
	Answer bool `json:"answer,omitempty"`
	// Read is the file that a tool message showed.
	Read *FileMark `json:"read,omitempty"`
}

// FileMark says which state of a file the model has seen.
type FileMark struct {
	Path string `json:"path"` // virtual, cleaned
	Hash string `json:"hash"` // SHA-256 of the whole file, in hex
}

// CallDigest is what a workflow knows of a tool call.
type CallDigest struct {
	ID      string          `json:"id"`
	Name    string          `json:"name"`
	Args    json.RawMessage `json:"args,omitempty"`    // when at most MaxDigestArgs long
	Key     string          `json:"key,omitempty"`     // equal for calls that count as the same
	Invalid string          `json:"invalid,omitempty"` // why it cannot be run
	Target  string          `json:"target,omitempty"`  // the file that it would change, virtual, cleaned
	Verdict *Verdict        `json:"verdict,omitempty"` // of the audit of a command; nil: nothing to say
}

// Verdict is what the audit of a command found.
type Verdict struct {
	Block  bool   `json:"block,omitempty"` // the command must not run
	Reason string `json:"reason"`
}

// UserText reports whether a message is what a user said: not made by the
// framework, no summary (spec 2.3).
func (d *Digest) UserText() bool {
	return d.Role == RoleHuman && d.Name != NameSummary && (!d.Hidden || d.Answer)
}

// FromUser reports whether the text of a message is a user's own words, whatever
// the page shows of it: a client may hide a message, or name it like one of the
// framework's, and is not trusted more for it. The time is stamped on what
// clients send, and only there.
func (m *Message) FromUser() bool {
	if m.Role != RoleHuman {
		return false
	}
	_, stamped := m.AdditionalKwargs[KeyTimestamp]
	_, answer := m.AdditionalKwargs[KeyHumanInputResponse].(map[string]any)
	return stamped || m.Name != NameSummary && (!m.Hidden() || answer)
}

// Digest makes the digest of m at position pos. Keys of calls are left to the
// caller, who knows the tools.
func (m *Message) Digest(pos int64) Digest {
	text := m.Content.String()
	d := Digest{
		ID: m.ID, Role: m.Role, Name: Prefix(m.Name, MaxDigestName), Pos: pos, Hidden: m.Hidden(),
		Empty: text == "", Text: Prefix(text, MaxDigestText),
		CallID: m.ToolCallID, Error: m.Status == ToolError, Tokens: m.Weight(), Size: len(text),
	}
	_, d.Answer = m.AdditionalKwargs[KeyHumanInputResponse].(map[string]any)
	for _, block := range m.Context() {
		if block.Day != "" {
			d.Day = block.Day
		}
	}
	d.Read = m.readMark()
	for i := range m.CallCount() {
		call, invalid, _ := m.CallAt(i)
		c := CallDigest{ID: call.ID, Name: Prefix(call.Name, MaxDigestName)}
		if invalid != nil {
			c.Invalid = Prefix(invalid.Error, MaxDigestText)
		} else if len(call.Args) <= MaxDigestArgs {
			c.Args = call.Args
		}
		d.Calls = append(d.Calls, c)
	}
	return d
}
