package middleware

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTokenUsageAsksForTheStamp(t *testing.T) {
	t.Parallel()
	request := &Request{}
	require.NoError(t, (&TokenUsage{}).EditRequest(nil, &Run{}, request))
	require.True(t, request.Attribute)
	require.Empty(t, request.Edits, "the model reads nothing of it")
}
