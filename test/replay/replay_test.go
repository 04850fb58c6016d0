package replay

import (
	"compress/gzip"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	tlog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"

	product "deerflow/worker"
	"deerflow/workflows"
)

func TestRecordedHistoriesReplay(t *testing.T) {
	t.Parallel()
	for _, files := range recorded(t) {
		for _, file := range files {
			t.Run(strings.TrimPrefix(file, "testdata/"), func(t *testing.T) {
				t.Parallel()
				replayer := worker.NewWorkflowReplayer()
				product.Register(replayer)
				quiet := tlog.NewStructuredLogger(slog.New(slog.DiscardHandler))
				require.NoError(t, replayer.ReplayWorkflowHistoryFromJSONFile(quiet, plain(t, file)))
			})
		}
	}
}

// recorded are the files of each directory: of the loops that had no version
// yet, and of each version since. None is empty.
func recorded(t *testing.T) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	patterns := []string{"testdata/*.json"}
	for v := 1; v <= workflows.LoopVersion; v++ {
		patterns = append(patterns, fmt.Sprintf("testdata/v%d/*.json.gz", v))
	}
	for _, pattern := range patterns {
		files, err := filepath.Glob(pattern)
		require.NoError(t, err)
		require.NotEmpty(t, files, "no recorded history as %s: see doc.go", pattern)
		found[pattern] = files
	}
	return found
}

// plain is a file that is not packed.
func plain(t *testing.T, file string) string {
	t.Helper()
	if !strings.HasSuffix(file, ".gz") {
		return file
	}
	packed, err := os.Open(filepath.Clean(file))
	require.NoError(t, err)
	defer func() { require.NoError(t, packed.Close()) }()
	reader, err := gzip.NewReader(packed)
	require.NoError(t, err)
	data, err := io.ReadAll(reader)
	require.NoError(t, err)
	unpacked := filepath.Join(t.TempDir(), "history.json")
	require.NoError(t, os.WriteFile(unpacked, data, 0o600))
	return unpacked
}
