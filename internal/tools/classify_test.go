package tools

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// Vectors of spec 4.13, 1.8 and 10.16-16.
func TestClassify(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text  string
		error bool
		tool  string
		kind  string // of the error; "" is none
		want  string
	}{
		{"Ok.", false, "", "", StatusSuccess},
		{"all good", false, "", "", StatusSuccess},
		{"Error: 401 from the server", true, "", "auth", "stop"},
		{"Error: Unauthorized", false, "", "auth", "stop"},
		{"Error: invalid API key", true, "", "auth", "stop"},
		{"Error: rate limited", true, "", "rate_limited", "summarize"},
		{"Error: Connection reset", true, "", "transient", "try_alternative"},
		{"Error: timed out after 3 s", true, "", "transient", "try_alternative"},
		{"Error: SERPER_API_KEY is not configured", true, "", "config", "stop"},
		{"Error: Permission denied: x", true, "", "permission", "try_alternative"},
		{"Error: path traversal", true, "", "permission", "try_alternative"},
		{"Error: no results found", true, "", "no_results", "rewrite_query"},
		{"Error: File not found: x", true, "", "not_found", "rewrite_query"},
		{"Error: 404", true, "", "not_found", "rewrite_query"},
		{"Error: Unexpected error: x", true, "", "internal", "stop"},
		{"Error: 500", true, "", "internal", "stop"},
		{"Error: took 500ms", true, "", "unknown", "try_alternative"},
		{"Error: 4010 rows", true, "", "unknown", "try_alternative"},
		{"Error: ", true, "", "unknown", "try_alternative"},
		{"no such file", true, "", "not_found", "rewrite_query"}, // an error without the prefix
		{"something", true, "", "unknown", "try_alternative"},
		{`{"error":"No results found"}`, false, "", "no_results", "rewrite_query"},
		{`{"error":"SERPER_API_KEY is not configured"}`, false, "", "config", "stop"},
		{`{"error":"none","results":[1]}`, false, "", "", StatusSuccess},
		{`{"error":"None"}`, false, "", "", StatusSuccess},
		{`{"error":0}`, false, "", "", StatusSuccess},
		{`{"error":false}`, false, "", "", StatusSuccess},
		{`{"error":null}`, false, "", "", StatusSuccess},
		{`{"error":""}`, false, "", "", StatusSuccess},
		{`{"error":[]}`, false, "", "", StatusSuccess},
		{`{"error":{}}`, false, "", "", StatusSuccess},
		{`{"error":404}`, false, "", "not_found", "rewrite_query"},
		{`{"error":true}`, false, "", "unknown", "try_alternative"},
		{`{"error":{"message":"rate limit"}}`, false, "", "rate_limited", "summarize"},
		{`{"error":`, false, "", "", StatusSuccess},
		{`{"query":"connection timeout"}`, false, "", "", StatusSuccess},
		{`{"user_id":401}`, true, "", "unknown", "try_alternative"},
		{`{"user_id":401,"error":"404"}`, true, "", "not_found", "rewrite_query"},
		{"# 404 Ways to Cook Rice\nText", false, "web_fetch", "", StatusSuccess},
		{"404 - File or directory not found.\nThe resource ...", false, "web_fetch", "not_found", "rewrite_query"},
		{"# 403 Forbidden", false, "web_fetch", "permission", "try_alternative"},
		{"Error 502: Bad Gateway", false, "web_fetch", "transient", "try_alternative"},
		{"Too Many Requests", false, "web_fetch", "rate_limited", "summarize"},
		{"500 Internal Server Error", false, "web_fetch", "internal", "stop"},
		{"HTTP Error 401 Unauthorized", false, "web_fetch", "auth", "stop"},
		{"Not Found", false, "bash", "", StatusSuccess},
		{"No results found", false, "", "", StatusPartial},
		{"[truncated: 3]", false, "", "", StatusPartial},
		{"Results may be incomplete", false, "", "", StatusPartial},
	} {
		m := Classify(c.tool, SourceToolReturn, Result{Text: c.text, Error: c.error})
		if c.kind == "" {
			require.Equal(t, c.want, m.Status, "%+v", c)
			require.Nil(t, m.ErrorType, "%+v", c)
			require.True(t, m.Recoverable)
			continue
		}
		require.Equal(t, StatusError, m.Status, "%+v", c)
		require.NotNil(t, m.ErrorType, "%+v", c)
		require.Equal(t, c.kind, *m.ErrorType, "%+v", c)
		require.Equal(t, c.want, m.Action, "%+v", c)
		recoverable := map[string]bool{"permission": true, "no_results": true, "not_found": true, "unknown": true}
		require.Equal(t, recoverable[c.kind], m.Recoverable, "%+v", c)
	}
	data, err := json.Marshal(Classify("", SourceToolReturn, Result{Text: "fine"}))
	require.NoError(t, err)
	require.JSONEq(t, `{"status":"success","error_type":null,"recoverable_by_model":true,"recommended_next_action":"continue","source":"tool_return"}`, string(data))
}
