package threads

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"deerflow/internal/cli"
	"deerflow/internal/cli/fakeserver"
)

// researched is a server with a thread that has sources and an unsound answer.
func researched(t *testing.T) *fakeserver.Server {
	t.Helper()
	s := fakeserver.New(t)
	s.Known = []string{"t1"}
	s.Script = []fakeserver.Run{{Messages: story(), Citations: map[string]any{
		"checked": 3, "fetched": 1, "found": 1, "unknown": 1, "flagged": []any{
			map[string]any{"place": "answer", "url": "https://n.org", "form": "citation", "grade": "unknown"},
			map[string]any{"place": "/mnt/user-data/outputs/r.md", "url": "https://b.org", "form": "link", "grade": "found"},
		},
	}}}
	s.Sources = []map[string]any{
		{"url": "https://a.org/x", "final_url": "https://a.org/y", "title": "On\ndeer", "kind": "fetch", "fetched_at": "2026-01-25T09:00:00Z", "hash": "0123456789abcdef", "size": 7, "run_id": "r1", "cited": true},
		{"url": "https://b.org", "title": "", "kind": "search", "fetched_at": "2026-01-25T09:00:00Z", "hash": nil},
	}
	return s
}

func TestShowSources(t *testing.T) {
	t.Parallel()
	d := open(t, researched(t))
	require.NoError(t, d.Send(patient(t), "t1", "go"))
	d.out.Reset()
	require.NoError(t, d.Show(patient(t), "t1", ShowOptions{}))
	text := d.out.String()
	require.Contains(t, text, "\n2 of 3 citations point at pages that were not fetched:\n  https://n.org (nothing in the thread names it)\n  https://b.org (found by a search, not read, in /mnt/user-data/outputs/r.md)\n")
	require.NotContains(t, text, "Sources:")

	d.out.Reset()
	require.NoError(t, d.Show(patient(t), "t1", ShowOptions{Sources: true}))
	text = d.out.String()
	require.Regexp(t, `\nSources:\n\* read   2026-01-2\d \d\d:\d\d  https://a.org/x\n           led to https://a.org/y\n           On deer\n           text 0123456789ab, 7 bytes, run r1\n  found  2026-01-2\d \d\d:\d\d  https://b.org\n`, text)

	d.out.Reset()
	require.NoError(t, d.Show(patient(t), "t1", ShowOptions{Format: cli.FormatJSON, Sources: true}))
	var v Shown
	require.NoError(t, json.Unmarshal(d.out.Bytes(), &v))
	require.Len(t, v.Sources, 2)
	require.Equal(t, "https://a.org/x", v.Sources[0].URL)
	require.Equal(t, 1, v.Runs[0].Citations.Unknown)

	d.out.Reset()
	require.NoError(t, d.Source(patient(t), "t1", " 0123456789AB"))
	require.Equal(t, "text of 0123456789abcdef\x1b[2J", d.out.String(), "what is piped is as it was kept")
	d.out.Reset()
	d.o.OutIsTTY = true
	require.NoError(t, d.Source(patient(t), "t1", "0123456789ab"))
	require.Equal(t, "text of 0123456789abcdef[2J\n", d.out.String())
	var exit *cli.ExitError
	require.ErrorAs(t, d.Source(patient(t), "t1", "ffffffffffff"), &exit)
	require.Equal(t, cli.ExitNotFound, exit.Code)

	none := fakeserver.New(t)
	none.Known = []string{"t1"}
	d = open(t, none)
	require.NoError(t, d.Show(patient(t), "t1", ShowOptions{Sources: true}))
	require.Contains(t, d.out.String(), "Sources: none")
	require.NotContains(t, d.out.String(), "citations")
}

func TestExportOfAReport(t *testing.T) {
	t.Parallel()
	s := researched(t)
	d := open(t, s)
	written := func(o ExportOptions) string {
		t.Helper()
		d.out.Reset()
		require.NoError(t, d.Export(patient(t), "t1", o))
		return d.out.String()
	}
	require.Equal(t, "md of ", written(ExportOptions{Format: "md", Report: true}))
	require.Equal(t, "html of ", written(ExportOptions{Format: "html"}))
	require.Equal(t, "pdf of /mnt/user-data/outputs/r.md", written(ExportOptions{Format: "pdf", Path: "r.md"}))
	require.Equal(t, "md of /mnt/user-data/workspace/d.md", written(ExportOptions{Format: "md", Path: "/mnt/user-data/workspace/d.md"}))
	require.Empty(t, d.errOut.String())

	file := filepath.Join(t.TempDir(), "r.pdf")
	s.Missing = 3
	require.Empty(t, written(ExportOptions{Format: "pdf", File: file}))
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, "pdf of ", string(data))
	require.Contains(t, d.errOut.String(), "written to "+file)
	require.Contains(t, d.errOut.String(), "3 characters cannot be shown")
	left, err := os.ReadDir(filepath.Dir(file))
	require.NoError(t, err)
	require.Len(t, left, 1)

	code(t, cli.ExitUsage, d.Export(patient(t), "t1", ExportOptions{Format: "json", Report: true}), "whole thread")
	code(t, cli.ExitNotFound, d.Export(patient(t), "t1", ExportOptions{Format: "md", Path: "none.md"}), "none.md")
	code(t, cli.ExitNotFound, d.Export(patient(t), "t9", ExportOptions{Format: "html"}), "t9")
	require.ErrorContains(t, d.Export(patient(t), "t1", ExportOptions{Format: "html", File: filepath.Join(file, "x")}), "writing the report")
	terminal := open(t, s, func(o *Options) { o.OutIsTTY = true })
	code(t, cli.ExitUsage, terminal.Export(patient(t), "t1", ExportOptions{Format: "pdf"}), "-O")
}
