package cli

// Style colours text for a terminal, or leaves it as it is.
type Style struct{ on bool }

// Terminal says what may be written to ErrOut: colour, and movements of the cursor. NO_COLOR (any value) turns colour
// off, TERM=dumb both; neither is used when ErrOut is no terminal.
func Terminal(s IOStreams, env func(string) string) (style Style, moves bool) {
	moves = s.ErrIsTTY && env("TERM") != "dumb"
	return Style{on: moves && env("NO_COLOR") == ""}, moves
}

// Dim is for text that matters less.
func (s Style) Dim(text string) string { return s.sgr("2", text) }

// Bold is for text to be seen first.
func (s Style) Bold(text string) string { return s.sgr("1", text) }

// Red is for failures.
func (s Style) Red(text string) string { return s.sgr("31", text) }

// Green is for success.
func (s Style) Green(text string) string { return s.sgr("32", text) }

// Yellow is for what deserves attention.
func (s Style) Yellow(text string) string { return s.sgr("33", text) }

func (s Style) sgr(code, text string) string {
	if !s.on || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}
