//go:build unix

package sandbox

import (
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// The reader of a stream that is taken has not had its turn yet.
func TestWhatStandsInThePipeIsTaken(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	require.NoError(t, err)
	c := newCapture(r)
	_, err = w.WriteString("said before it ended")
	require.NoError(t, err)
	require.Equal(t, "said before it ended", c.take())

	_, err = w.WriteString("by a child in the background")
	require.NoError(t, err)
	require.NoError(t, w.Close())
	c.read()
	require.Empty(t, c.take(), "what comes later is thrown away")
}

// Whoever is quicker, the reader or who takes: nothing is lost, and the order
// stays.
func TestReaderAndTakerTogether(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("0123456789", 3000) // less than a pipe holds
	for range 200 {
		r, w, err := os.Pipe()
		require.NoError(t, err)
		c := newCapture(r)
		var reader sync.WaitGroup
		reader.Go(c.read)
		_, err = w.WriteString(text)
		require.NoError(t, err)
		require.Equal(t, text, c.take())
		require.NoError(t, w.Close())
		reader.Wait()
	}
}
