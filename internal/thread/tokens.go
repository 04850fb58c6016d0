package thread

// What the frame around a message costs in a request, and what an image or
// another part without text does.
const (
	TokensPerMessage = 4
	tokensPerMedia   = 1000
)

// EstimateTokens is about how many tokens a text has: a quarter of one for an
// ASCII character, one for any other. It errs upwards for prose. It needs no
// tokenizer, which would have to be downloaded (L04), and gives the same figure
// everywhere.
func EstimateTokens(text string) int {
	ascii, other := 0, 0
	for _, r := range text {
		if r < 0x80 {
			ascii++
		} else {
			other++
		}
	}
	return (ascii+3)/4 + other
}

// Weight is about how many tokens a message has in a request, with its
// reasoning and its tool calls.
func (m *Message) Weight() int {
	total := TokensPerMessage + EstimateTokens(m.Reasoning())
	for _, part := range m.Content.Parts() {
		if part.Text == "" && part.Raw != nil {
			total += tokensPerMedia
			continue
		}
		total += EstimateTokens(part.Text)
	}
	for _, c := range m.ToolCalls {
		total += EstimateTokens(c.Name) + EstimateTokens(string(c.Args))
	}
	for _, block := range m.Context() {
		total += EstimateTokens(block.Text)
	}
	return total + 4*len(m.InvalidToolCalls)
}
