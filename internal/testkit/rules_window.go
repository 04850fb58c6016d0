package testkit

import (
	"encoding/json"
	"fmt"
)

// tokensPerMessage is what the frame around each message costs, and
// tokensPerMedia what an image or another part without text does.
const (
	tokensPerMessage = 4
	tokensPerMedia   = 1000
)

// checkWindow checks V10.
func checkWindow(c *chat, rules Rules) []Violation {
	if rules.Window <= 0 {
		return nil
	}
	prompt, output := c.estimate(), c.maxTokens()
	if prompt+output <= rules.Window {
		return nil
	}
	return []Violation{{V10, "messages", fmt.Sprintf(
		"This model's maximum context length is %d tokens. However, you requested %d tokens (%d in the messages, %d in the completion)",
		rules.Window, prompt+output, prompt, output)}}
}

// EstimateTokens returns about how many tokens the prompt of a chat request
// has: a quarter of a token for an ASCII character, one for any other, and a
// few for each message. A body that is no chat request has 0.
func EstimateTokens(body []byte) int {
	c, err := parseChat(body)
	if err != nil {
		return 0
	}
	return c.estimate()
}

func (c *chat) estimate() int {
	total := estimateText(string(c.fields["tools"]))
	for _, m := range c.messages {
		total += tokensPerMessage + estimateText(m.Reasoning)
		for _, part := range contentParts(m.Content) {
			if part.Type == "text" || part.Type == "" {
				total += estimateText(part.Text)
			} else {
				total += tokensPerMedia
			}
		}
		for _, call := range m.ToolCalls {
			total += estimateText(call.Name) + estimateText(call.Arguments)
		}
	}
	return total
}

func estimateText(text string) int {
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

// maxTokens returns the output that the request asks room for.
func (c *chat) maxTokens() int {
	for _, key := range []string{"max_completion_tokens", "max_tokens"} {
		var n int
		if raw := c.fields[key]; !isNull(raw) && json.Unmarshal(raw, &n) == nil {
			return n
		}
	}
	return 0
}
