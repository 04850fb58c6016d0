package agent

// WindowRule is the room of the model's window, in tokens; a zero Size is
// unknown.
type WindowRule struct {
	Size   int `json:"size,omitempty"`
	Output int `json:"output,omitempty"` // reserved for the answer
	Fixed  int `json:"fixed,omitempty"`  // the prompt and the schemas of the tools
}

const (
	// windowMargin is the part of a window by which an estimate may err.
	windowMargin = 32
	// frameTokens are for what the framework says beside the transcript: the
	// lines around what users said, a warning, the frame of a summary.
	frameTokens = 256
)

// Room is how many tokens the messages of a request may have: the window
// without the answer, the prompt, the schemas and a margin (D02). An answer is
// promised at most half of what the others leave, so that small windows work,
// too. It is 0 when the window is unknown, or so small that nothing helps.
func (w WindowRule) Room() int {
	if w.Size <= 0 {
		return 0
	}
	left := w.Size - w.Fixed - w.Size/windowMargin - frameTokens
	return max(left-min(w.Output, left/2), 0)
}

// SummaryTokens is how long a summary may be: a quarter of the room.
func (w WindowRule) SummaryTokens() int {
	const most, least = 2000, 200
	if room := w.Room(); room > 0 {
		return min(max(room/4, least), most)
	}
	return most
}
