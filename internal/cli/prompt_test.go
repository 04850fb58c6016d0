package cli

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"deerflow/internal/thread"
)

func prompter(in string, tty bool) (*Prompter, *screen) {
	var w screen
	p := NewProgress(ProgressOptions{Streams: IOStreams{ErrOut: &w}, Env: noEnv})
	return &Prompter{Lines: NewLineReader(strings.NewReader(in)), Progress: p, IsTTY: tty}, &w
}

func choiceCard() thread.Card {
	return thread.Card{
		RequestID: "clarification:c1", Question: "Which one?", Context: "There are two.", InputMode: thread.InputChoice,
		Options: []thread.Option{{ID: "option-1", Label: "The first", Value: "first"}, {ID: "option-2", Label: "The second", Value: "second"}},
	}
}

func TestAskShowsOptionsNumberedAndTakesANumber(t *testing.T) {
	t.Parallel()
	p, w := prompter("2\n", true)
	answer, err := p.Ask(t.Context(), choiceCard())
	require.NoError(t, err)
	require.Equal(t, Answer{RequestID: "clarification:c1", OptionID: "option-2", Value: "second"}, answer)
	require.Equal(t, "\nThere are two.\n\n? Which one?\n  1. The first\n  2. The second\nNumber of your choice, or your own answer: ", w.String())
}

func TestAskTakesALabelOrFreeText(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]Answer{
		"the FIRST\r\n":   {RequestID: "clarification:c1", OptionID: "option-1", Value: "first"},
		" neither, both ": {RequestID: "clarification:c1", Value: "neither, both"},
		"3\n":             {RequestID: "clarification:c1", Value: "3"},
		"0\n":             {RequestID: "clarification:c1", Value: "0"},
	} {
		p, _ := prompter(in, false)
		answer, err := p.Ask(t.Context(), choiceCard())
		require.NoError(t, err)
		require.Equal(t, want, answer)
	}
}

func TestAskAgainOnATerminalOnly(t *testing.T) {
	t.Parallel()
	card := choiceCard()
	card.InputMode = "single_choice"
	p, w := prompter("\nelse\n1\n", true)
	answer, err := p.Ask(t.Context(), card)
	require.NoError(t, err)
	require.Equal(t, "option-1", answer.OptionID)
	require.Contains(t, w.String(), "an answer is needed")
	require.Contains(t, w.String(), `"else" is none of the options: type a number from 1 to 2`)

	p, _ = prompter("else\n1\n", false)
	_, err = p.Ask(t.Context(), card)
	require.ErrorContains(t, err, "none of the options")
	require.NotErrorIs(t, err, ErrNoAnswer)
}

func TestANumberOfNoOptionIsAskedForAgainOnATerminal(t *testing.T) {
	t.Parallel()
	p, w := prompter("9\n2\n", true)
	answer, err := p.Ask(t.Context(), choiceCard())
	require.NoError(t, err)
	require.Equal(t, "option-2", answer.OptionID)
	require.Contains(t, w.String(), "there is no option 9: type a number from 1 to 2")

	p, _ = prompter("9\n9\n", true)
	answer, err = p.Ask(t.Context(), choiceCard())
	require.NoError(t, err)
	require.Equal(t, Answer{RequestID: "clarification:c1", Value: "9"}, answer, "said twice, it is meant")
}

func TestAskWithoutAnybodyToAnswer(t *testing.T) {
	t.Parallel()
	p, w := prompter("", false)
	_, err := p.Ask(t.Context(), choiceCard())
	require.ErrorIs(t, err, ErrNoAnswer)
	require.Contains(t, w.String(), "? Which one?")

	p, w = prompter("1\n", true)
	p.NoInput = true
	_, err = p.Ask(t.Context(), choiceCard())
	require.ErrorIs(t, err, ErrNoAnswer)
	require.Contains(t, w.String(), "  2. The second\n")
	require.NotContains(t, w.String(), "Number of your choice")
}

func TestAskEndsWithTheContextAndKeepsTheLine(t *testing.T) {
	t.Parallel()
	in, out := io.Pipe()
	p, _ := prompter("", true)
	p.Lines = NewLineReader(in)
	gone := errors.New("gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(gone)
	_, err := p.Ask(ctx, choiceCard())
	require.ErrorIs(t, err, gone)
	go func() {
		_, _ = io.WriteString(out, "1\n")
		_ = out.Close()
	}()
	answer, err := p.Ask(t.Context(), choiceCard())
	require.NoError(t, err)
	require.Equal(t, "first", answer.Value)
}

func formCard() thread.Card {
	options := []thread.Option{{ID: "o1", Label: "Red", Value: "red"}, {ID: "o2", Label: "Blue, dark", Value: "blue"}}
	return thread.Card{
		RequestID: "clarification:c2", Question: "Details?", InputMode: thread.InputForm,
		Fields: []thread.Field{
			{Name: "who", Label: "Name", Type: "text", Required: true},
			{Name: "n", Label: "Count", Type: "number"},
			{Name: "day", Label: "Day", Type: "date"},
			{Name: "ok", Label: "Agreed", Type: "checkbox", Required: true},
			{Name: "one", Label: "Colour", Type: "select", Options: options},
			{Name: "many", Label: "Colours", Type: "multi_select", Options: options},
			{Name: "note", Label: "Note", Type: "textarea", Placeholder: "anything"},
		},
	}
}

func TestAskFormFieldByField(t *testing.T) {
	t.Parallel()
	p, w := prompter("\nAda\nmany\n2\n\nmaybe\ny\n2\n1,blue, dark\nred, 2\n\n", true)
	answer, err := p.Ask(t.Context(), formCard())
	require.NoError(t, err)
	require.Equal(t, Answer{
		RequestID: "clarification:c2",
		Value:     "Name: Ada\nCount: 2\nAgreed: yes\nColour: blue\nColours: red, blue",
	}, answer)
	for _, piece := range []string{
		"Name is required", `"many" is no number`, `"maybe" is neither y nor n`, `"dark" is none of the options`,
		"Count (a number; optional): ", "Day (YYYY-MM-DD; optional): ", "Note (e.g. anything; optional): ",
	} {
		require.Contains(t, w.String(), piece)
	}
}

func TestFormCutShortIsNoAnswer(t *testing.T) {
	t.Parallel()
	p, _ := prompter("Ada\n2\n", false)
	_, err := p.Ask(t.Context(), formCard())
	require.ErrorIs(t, err, ErrNoAnswer)
}

func TestFieldValues(t *testing.T) {
	t.Parallel()
	field := func(kind string) thread.Field { return thread.Field{Label: "F", Type: kind} }
	for _, c := range []struct{ kind, in, want string }{
		{"number", "-1.5e3", "-1.5e3"}, {"date", " 2026-02-28 ", "2026-02-28"}, {"checkbox", "No", "no"}, {"text", " a b ", "a b"},
	} {
		got, err := fieldValue(field(c.kind), c.in)
		require.NoError(t, err)
		require.Equal(t, c.want, got)
	}
	for _, c := range [][2]string{{"number", "null"}, {"number", "NaN"}, {"number", "0x10"}, {"date", "2026-02-30"}, {"date", "tomorrow"}, {"checkbox", "si"}} {
		_, err := fieldValue(field(c[0]), c[1])
		require.Error(t, err, c)
	}
}
