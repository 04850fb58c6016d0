package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"deerflow/internal/thread"
)

// ErrNoAnswer says that nobody answered: prompts are off, or the input is at its end.
var ErrNoAnswer = errors.New("nobody answered the question")

// Prompter asks questions on ErrOut and reads the answers from In: any number of tries on a terminal, one line for each
// thing that is asked for otherwise.
type Prompter struct {
	Lines    *LineReader
	Progress *Progress
	IsTTY    bool // of the input
	NoInput  bool // never ask: every question is [ErrNoAnswer]
}

// Ask shows a card and returns the answer to it: [ErrNoAnswer] when there is none, the context's cause when that ends
// first. Without a terminal an answer that the card does not allow is an error, since nobody can be asked again.
func (p *Prompter) Ask(ctx context.Context, card thread.Card) (Answer, error) {
	p.show(card)
	if p.NoInput {
		return Answer{}, ErrNoAnswer
	}
	if card.InputMode == thread.InputForm && len(card.Fields) > 0 {
		return p.askForm(ctx, card)
	}
	prompt := "Your answer: "
	switch {
	case onlyOptions(card):
		prompt = "Number of your choice: "
	case len(card.Options) > 0:
		prompt = "Number of your choice, or your own answer: "
	}
	var answer Answer
	doubted := ""
	err := p.read(ctx, prompt, func(text string) (err error) {
		answer, err = AnswerCard(card, text)
		if err == nil && p.IsTTY && answer.OptionID == "" && answer.Value != doubted && strayNumber(card, answer.Value) {
			doubted = answer.Value
			return fmt.Errorf("there is no option %s: type a number from 1 to %d, or %s once more to answer just that", doubted, len(card.Options), doubted)
		}
		return err
	})
	return answer, err
}

func (p *Prompter) askForm(ctx context.Context, card thread.Card) (Answer, error) {
	var lines []string
	for _, f := range card.Fields {
		value := ""
		err := p.read(ctx, fieldPrompt(f), func(text string) (err error) {
			value, err = fieldValue(f, text)
			return err
		})
		if err != nil {
			return Answer{}, err
		}
		if value != "" {
			lines = append(lines, f.Label+": "+value)
		}
	}
	if len(lines) == 0 {
		lines = []string{"(all fields were left empty)"}
	}
	return Answer{RequestID: card.RequestID, Value: strings.Join(lines, "\n")}, nil
}

// read asks for a line until take accepts it; take's error is shown.
func (p *Prompter) read(ctx context.Context, prompt string, take func(string) error) error {
	for {
		p.Progress.Prompt(p.Progress.Style().Bold(prompt))
		text, err := p.Lines.Line(ctx)
		if !p.IsTTY || err != nil {
			p.Progress.Prompt("\n")
		}
		if errors.Is(err, io.EOF) {
			return ErrNoAnswer
		}
		if err != nil {
			return err
		}
		if err = take(text); err == nil {
			return nil
		}
		if !p.IsTTY {
			return fmt.Errorf("the line from standard input: %w", err)
		}
		p.Progress.Note("%v", err)
	}
}

// show writes the question, what it is about and its options, numbered.
func (p *Prompter) show(card thread.Card) {
	style := p.Progress.Style()
	var b strings.Builder
	b.WriteString("\n")
	if card.Context != "" {
		b.WriteString(CleanLines(card.Context) + "\n\n")
	}
	b.WriteString(style.Yellow("?") + " " + style.Bold(CleanLines(card.Question)) + "\n")
	for i, o := range card.Options {
		fmt.Fprintf(&b, "  %d. %s\n", i+1, Clean(o.Label))
	}
	if p.NoInput {
		for i, f := range card.Fields {
			fmt.Fprintf(&b, "  %d. %s\n", i+1, fieldTitle(f))
		}
	}
	p.Progress.Prompt(b.String())
}

func fieldPrompt(f thread.Field) string {
	var b strings.Builder
	for i, o := range f.Options {
		fmt.Fprintf(&b, "  %d. %s\n", i+1, Clean(o.Label))
	}
	return b.String() + fieldTitle(f) + ": "
}

// fieldTitle is the label of a field with what may be typed for it.
func fieldTitle(f thread.Field) string {
	var hints []string
	switch f.Type {
	case "number":
		hints = append(hints, "a number")
	case "date":
		hints = append(hints, "YYYY-MM-DD")
	case "checkbox":
		hints = append(hints, "y/n")
	case "select":
		hints = append(hints, "a number or label")
	case "multi_select":
		hints = append(hints, "numbers or labels, separated by commas")
	}
	if f.Placeholder != "" {
		hints = append(hints, "e.g. "+Clean(f.Placeholder))
	}
	if !f.Required {
		hints = append(hints, "optional")
	}
	title := Clean(f.Label)
	if len(hints) > 0 {
		title += " (" + strings.Join(hints, "; ") + ")"
	}
	return title
}
