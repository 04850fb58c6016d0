package model

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"deerflow/internal/thread"
)

func TestDemoQuotesASentenceToItsEnd(t *testing.T) {
	t.Parallel()
	d := newDesk(t, map[string]string{"notes.md": "# Durability\n\n" +
		"[Durability](docs/durability.md) · [Architecture](docs/architecture.md)\n\n" +
		"```sh\nask durability and durability\n```\n\n" +
		"A run has durability, since each step is written down before it\ncounts as done. The next sentence says\nanother thing.\n\n" +
		"- durability for lists\n- of short lines\n"})
	final := d.without("ask_clarification").ask(thread.Human("h1", "What about durability?"))
	require.Contains(t, final.Content.String(),
		"Closest to your question is “A run has durability, since each step is written down before it counts as done.” (`notes.md`, lines 9-10).")
	report := d.files[outputsDir+"/report.md"]
	require.Contains(t, report, "> A run has durability, since each step is written down before it\n> counts as done. The next sentence says\n>\n> — `notes.md`, lines 9-10\n")
	require.Contains(t, report, "> - durability for lists\n>\n> — `notes.md`, line 13\n")
	require.Contains(t, report, "- “- durability for lists” (`notes.md`, line 13)")
	require.NotContains(t, report, "- “# Durability”")
	require.NotContains(t, report, "- “[Durability]")
	require.NotContains(t, report, "- “ask durability")
}

func TestDemoLeavesOutTheEndOfTheSentenceBefore(t *testing.T) {
	t.Parallel()
	words := []string{"durability"}
	source := []string{
		"This is a long sentence that an editor has broken here, in its", "middle. It is about durability.",
		"This is a long sentence about something that an editor broke near", "durability. It ends before this.",
	}
	quotes := wholeSentences([]quote{{file: "a.md", line: 2}, {file: "a.md", line: 4}}, source, words)
	require.Equal(t, "It is about durability.", quotes[0].text)
	require.Equal(t, []string{source[1]}, quotes[0].lines)
	require.Equal(t, source[3], quotes[1].text)
}

func TestDemoSaysHowManyFilesItReads(t *testing.T) {
	t.Parallel()
	files := map[string]string{}
	for i := range 13 {
		files[fmt.Sprintf("f%02d.txt", i)] = "dredging\n"
	}
	d := newDesk(t, files).without("ask_clarification")
	d.ask(thread.Human("h1", "dredging"))
	said := ""
	for i := range d.history {
		said += d.history[i].Content.String() + "\n"
	}
	require.Contains(t, said, "I found 13 text files and read 6 of them.")
}

func TestMostlyLinks(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]bool{
		"[Durability](docs/durability.md) · [Security](docs/security.md)": true,
		"https://temporal.io": true,
		"Durability comes from Temporal, see [its page](https://temporal.io) for how that is done.": false,
		"2024,12": false,
	} {
		require.Equal(t, want, mostlyLinks(line), line)
	}
}
