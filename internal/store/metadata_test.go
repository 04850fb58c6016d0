package store

import (
	"encoding/json"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// FuzzMetadata: whatever a client sends is refused as invalid, or becomes an
// object that is valid text, stays as it is the second time, and can be merged.
func FuzzMetadata(f *testing.F) {
	for _, seed := range []string{`{}`, `null`, ``, `{"a":[1,{"b":null}],"c":"\ud800"}`, `{"a":1e400}`, "{\"a\":\"\xff\"}", `{"a":1}{`, `[[[[`, `{"deerflow_pinned":true}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		text, pinned, err := metadataObject(data)
		if err != nil {
			require.ErrorIs(t, err, ErrInvalid)
			return
		}
		require.True(t, utf8.ValidString(text))
		var object map[string]any
		require.NoError(t, json.Unmarshal([]byte(text), &object))
		require.NotNil(t, object)
		again, pinnedAgain, err := metadataObject([]byte(text))
		require.NoError(t, err)
		require.Equal(t, text, again)
		require.Equal(t, pinned, pinnedAgain)
		merged, _, err := mergeMetadata([]byte(text), map[string]any{})
		require.NoError(t, err)
		require.Equal(t, text, merged)
	})
}
