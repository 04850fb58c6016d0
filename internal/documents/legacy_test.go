package documents

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"deerflow/internal/testkit"
)

// office is a program that is called like LibreOffice and does what a shell
// script says; $out is where it has to write.
func office(t *testing.T, script string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "soffice")
	head := "#!/bin/sh\nwhile [ $# -gt 1 ]; do [ \"$1\" = --convert-to ] && format=$2; [ \"$1\" = --outdir ] && out=$2; shift; done\nmkdir -p \"$out\"\n"
	require.NoError(t, os.WriteFile(path, []byte(head+script), 0o700))
	return path
}

func TestOldFormats(t *testing.T) {
	t.Parallel()
	made := filepath.Join(t.TempDir(), "made.docx")
	require.NoError(t, os.WriteFile(made, testkit.Docx("# From the old one"), 0o600))
	data := []byte(`{\rtf1 text}`)
	with := func(name, script string) (Document, error) {
		return Convert(t.Context(), name, bytes.NewReader(data), int64(len(data)), Options{Office: office(t, script)})
	}
	doc, err := with("a.DOC", fmt.Sprintf("[ \"$format\" = docx ] && [ \"$(cat \"$1\")\" = '%s' ] && cp %s \"$out/document.docx\"", data, made))
	require.NoError(t, err)
	require.Equal(t, "# From the old one\n", doc.Markdown)
	for script, want := range map[string]string{
		"exit 1": "LibreOffice could not read it", "true": "LibreOffice could not read it",
		"cp \"$1\" \"$out/document.docx\"": "LibreOffice could not read it", // it gave back what it got
	} {
		_, err = with("a.doc", script)
		require.ErrorContains(t, err, want, script)
	}
	_, err = with("a.pdf", "exit 1")
	require.ErrorContains(t, err, "no pdf document")
}
