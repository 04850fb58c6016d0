package model

import (
	"crypto/x509"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// refused is the error behind an answer with this status and body.
func refused(t *testing.T, status int, body string, header ...string) *Error {
	t.Helper()
	c, w := clientFor(t, testConfig(), reply(status, body, header...))
	e := failure(t, hear(c, question("x")).err)
	require.Len(t, w.bodies, 1, "one attempt is one request")
	return e
}

func TestC10Refusals(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name      string
		status    int
		body      string
		class     Class
		message   string
		retryable bool
	}{
		{"broken body", 400, `{"error":{"message":"Invalid parameter: messages[2]","type":"invalid_request_error"}}`, ClassBadRequest, "Invalid parameter: messages[2]", false},
		{"400 that says busy", 400, `{"error":{"message":"please try again later"}}`, ClassBadRequest, "please try again later", false},
		{"401", 401, `{"error":{"message":"Who are you?"}}`, ClassAuth, "Who are you?", false},
		{"402", 402, `{"error":{"message":"Pay first."}}`, ClassQuota, "Pay first.", false},
		{"403", 403, `{"message":"Not for you"}`, ClassAuth, "Not for you", false},
		{"404", 404, `{"error":{"message":"The model does not exist","code":"model_not_found"}}`, ClassBadRequest, "The model does not exist", false},
		{"422 detail", 422, `{"detail":[{"loc":["body"],"msg":"field required"}]}`, ClassBadRequest, "field required", false},
		{"429 without quota", 429, `{"error":{"message":"You exceeded your current quota, please check your plan","type":"insufficient_quota","code":"insufficient_quota"}}`, ClassQuota, "You exceeded your current quota, please check your plan", false},
		{"low balance", 400, `{"error":{"message":"Your credit balance is too low"}}`, ClassQuota, "Your credit balance is too low", false},
		{"Chinese balance", 429, `{"error":{"message":"账户余额不足，请充值"}}`, ClassQuota, "账户余额不足", false},
		{"429", 429, `{"error":{"message":"Slow down"}}`, ClassTransient, "Slow down", true},
		{"429 that advises to pay", 429, `{"error":{"message":"Rate limit reached. Visit billing to add a payment method.","code":"rate_limit_exceeded"}}`, ClassTransient, "Rate limit reached", true},
		{"429 quota per minute", 429, `[{"error":{"code":429,"message":"Quota exceeded for requests per minute","status":"RESOURCE_EXHAUSTED"}}]`, ClassTransient, "per minute", true},
		{"429 throttling", 429, `{"code":"Throttling.RateQuota","message":"Requests rate limit exceeded"}`, ClassTransient, "Requests rate limit exceeded", true},
		{"burst", 429, `{"error":{"message":"Request rate increased too quickly","code":"limit_burst_rate"}}`, ClassBurstRate, "too quickly", true},
		{"408", 408, ``, ClassTransient, "408", true},
		{"409", 409, `{}`, ClassTransient, "409", true},
		{"500", 500, `{"error":{"message":"The server had an error"}}`, ClassTransient, "The server had an error", true},
		{"500 that quotes", 500, `{"error":{"message":"failed on 'permission to quote the payment'"}}`, ClassTransient, "failed on", true},
		{"500 with a code", 500, `{"error":{"message":"x","code":"insufficient_quota"}}`, ClassQuota, "x", false},
		{"502 page", 502, "<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>", ClassTransient, "502 Bad Gateway", true},
		{"502 page without title", 502, "<html><body><h1>Oh   no</h1><script>x()</script></body></html>", ClassTransient, "Oh no", true},
		{"503 text", 503, "upstream connect error", ClassTransient, "upstream connect error", true},
		{"529", 529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, ClassTransient, "Overloaded", true},
		{"error as text", 400, `{"error":"boom"}`, ClassBadRequest, "boom", false},
		{"418", 418, `{"error":"teapot"}`, ClassGeneric, "teapot", false},
		{"router quotes", 400, `{"error":{"message":"Provider returned error","metadata":{"raw":"tool name is bad"}}}`, ClassBadRequest, "tool name is bad", false},
		{"redirect", 301, ``, ClassBadRequest, "301", false},
		{"odd JSON", 500, `{"error":{"message":["a","b"]}}`, ClassTransient, "a", true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			e := refused(t, c.status, c.body)
			require.Equal(t, c.class, e.Class, e.Error())
			require.Equal(t, c.retryable, e.Retryable)
			require.Contains(t, e.Message, c.message)
			require.Equal(t, c.status, e.Status)
		})
	}
	require.Equal(t, 2, refused(t, 429, `{"error":{"code":"limit_burst_rate"}}`).MaxAttempts)
	require.Equal(t, "insufficient_quota", refused(t, 429, `{"error":{"code":"insufficient_quota"}}`).Code)
}

func TestD03ContextLength(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		`{"error":{"message":"This model's maximum context length is 128000 tokens.","code":"context_length_exceeded"}}`,
		`{"error":{"message":"prompt is too long: 210000 tokens > 200000 maximum"}}`,
		`{"error":{"message":"The input token count (1100000) exceeds the maximum number of tokens allowed (1048576)."}}`,
		`{"error":{"message":"<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 30720]"}}`,
		`{"error":{"message":"输入长度超过模型最大上下文"}}`,
		`{"error":{"message":"Please reduce the length of the messages or completion."}}`,
	} {
		e := refused(t, 400, body)
		require.Equal(t, ClassContextLength, e.Class, body)
		require.False(t, e.Retryable)
	}
	require.Equal(t, ClassContextLength, refused(t, 413, `too big`).Class)
	require.Equal(t, ClassTransient, refused(t, 429, `{"error":{"message":"too many tokens per min"}}`).Class)
}

func TestA22RetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		header map[string]string
		want   time.Duration
	}{
		"seconds":            {map[string]string{"Retry-After": "3"}, 3 * time.Second},
		"a fraction":         {map[string]string{"Retry-After": "1.5"}, 1500 * time.Millisecond},
		"date":               {map[string]string{"Retry-After": "Sun, 01 Mar 2026 12:00:20 GMT"}, 20 * time.Second},
		"by the server":      {map[string]string{"Retry-After": "Sun, 01 Mar 2026 10:00:20 GMT", "Date": "Sun, 01 Mar 2026 10:00:10 GMT"}, 10 * time.Second},
		"past":               {map[string]string{"Retry-After": "Sun, 01 Mar 2026 11:00:00 GMT"}, 0},
		"milliseconds first": {map[string]string{"Retry-After": "3", "Retry-After-Ms": "250"}, 250 * time.Millisecond},
		"nonsense":           {map[string]string{"Retry-After": "soon"}, 0},
		"negative":           {map[string]string{"Retry-After": "-5"}, 0},
		"NaN":                {map[string]string{"Retry-After": "NaN", "Retry-After-Ms": "inf"}, 0},
		"an age":             {map[string]string{"Retry-After": "1e300"}, maxRetryAfter},
		"none":               {nil, 0},
	} {
		h := http.Header{}
		for k, v := range c.header {
			h.Set(k, v)
		}
		require.Equal(t, c.want, retryAfter(h, now), name)
	}
	for _, status := range []int{429, 503} {
		e := refused(t, status, `{"error":"wait"}`, "Retry-After: 3")
		require.Equal(t, 3*time.Second, e.RetryAfter)
		require.True(t, e.Retryable)
	}
	require.Equal(t, 40*time.Millisecond, refused(t, 429, `{}`, "retry-after-ms: 40").RetryAfter)
}

func TestShouldRetryHeaderWins(t *testing.T) {
	t.Parallel()
	require.False(t, refused(t, 500, `{}`, "x-should-retry: false").Retryable)
	require.True(t, refused(t, 418, `{}`, "x-should-retry: true").Retryable)
}

func TestSecretsStayOut(t *testing.T) {
	t.Parallel()
	const key = "sk-test-secret-key-123456"
	e := refused(t, 401, `{"error":{"message":"Incorrect API key provided: `+key+`. Authorization: Bearer abc.def"}}`)
	require.NotContains(t, e.Error(), key)
	require.NotContains(t, e.Error(), "abc.def")
	require.Contains(t, e.Error(), "[redacted]")

	w := &wire{answers: []func(*http.Request) (*http.Response, error){reply(400, `{"error":"header x-token hunter2-hunter2 is wrong"}`)}}
	c, err := New(testConfig(), Options{Transport: w, Headers: map[string]string{"X-Token": "hunter2-hunter2"}})
	require.NoError(t, err)
	h := hear(c, question("x"))
	require.NotContains(t, h.err.Error(), "hunter2")
	require.Equal(t, "hunter2-hunter2", w.headers[0].Get("X-Token"))

	// A URL with a key in it is not quoted by connection errors.
	cfg := testConfig()
	cfg.BaseURL = "http://provider.test/v1?key=topsecret"
	failing := &wire{answers: []func(*http.Request) (*http.Response, error){
		func(*http.Request) (*http.Response, error) { return nil, errors.New("connection refused") },
	}}
	c, err = New(cfg, Options{Transport: failing})
	require.NoError(t, err)
	e = failure(t, hear(c, question("x")).err)
	require.NotContains(t, e.Error(), "topsecret")
	require.Contains(t, e.Error(), "connection refused")
	require.Equal(t, ClassTransient, e.Class)
}

func TestErrorTextIsReadable(t *testing.T) {
	t.Parallel()
	e := refused(t, 500, `{"error":{"message":"`+strings.Repeat("long ", 100000)+`"}}`)
	require.Less(t, len(e.Message), 1100)
	e = refused(t, 500, strings.Repeat("<p>x</p>\n\n", 100000))
	require.Less(t, len(e.Message), 1100)
	require.NotContains(t, e.Message, "\n")
	e = refused(t, 500, "\xff\xfe bytes")
	require.Equal(t, "bytes", e.Message)
}

func TestCertificatesAreNotRetried(t *testing.T) {
	t.Parallel()
	err := failedRead(&url.Error{Op: "Post", URL: "https://x/?k=1", Err: x509.HostnameError{Certificate: &x509.Certificate{}, Host: "x"}})
	e := failure(t, err)
	require.Equal(t, ClassGeneric, e.Class)
	require.False(t, e.Retryable)
	require.NotContains(t, e.Error(), "k=1")
	require.ErrorIs(t, failedRead(io.ErrUnexpectedEOF), io.ErrUnexpectedEOF)
}

func TestWebPageAsAnswer(t *testing.T) {
	t.Parallel()
	e := failure(t, streamed(t, "<!doctype html><title>Sign in</title>").err)
	require.Contains(t, e.Message, "Sign in")
	require.Contains(t, e.Message, "base_url")
	require.Equal(t, 2, e.MaxAttempts)
}

func TestA08RefusedFieldsAreLeftOut(t *testing.T) {
	t.Parallel()
	answer := reply(200, said("ok")+ended("stop"))
	for name, c := range map[string]struct {
		cfg     func(*Config)
		refusal string
		gone    string
		instead string
	}{
		"stream_options":      {func(*Config) {}, `Unrecognized request argument supplied: stream_options`, "stream_options", ""},
		"parallel_tool_calls": {func(c *Config) { c.Flags.ParallelToolCalls = ptr(true) }, `parallel_tool_calls is not supported`, "parallel_tool_calls", ""},
		"max_tokens": {
			func(c *Config) { c.MaxTokens = 9 }, `Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.`,
			`"max_tokens"`, `"max_completion_tokens":9`,
		},
		"reasoning_content": {
			func(c *Config) { c.Flags.ReasoningContent = ReasoningPlaceholder }, `property 'reasoning_content' is unsupported`, "reasoning_content", "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := testConfig()
			c.cfg(&cfg)
			client, w := clientFor(t, cfg, reply(400, `{"error":{"message":"`+c.refusal+`"}}`), answer)
			req := question("x")
			req.Messages = append(req.Messages, asks("a ls"))
			h := hear(client, req)
			require.NoError(t, h.err)
			require.Len(t, w.bodies, 2)
			require.Contains(t, string(w.bodies[0]), c.gone)
			require.NotContains(t, string(w.bodies[1]), c.gone)
			require.Contains(t, string(w.bodies[1]), c.instead)
			require.NoError(t, hear(client, req).err)
			require.Len(t, w.bodies, 3, "remembered")
			require.NotContains(t, string(w.bodies[2]), c.gone)
		})
	}
	t.Run("reasoning is missed", func(t *testing.T) {
		t.Parallel()
		client, w := clientFor(t, testConfig(),
			reply(400, `{"error":{"message":"thinking is enabled but reasoning_content is missing in assistant tool call message at index 2"}}`), answer)
		req := question("x")
		req.Messages = append(req.Messages, asks("a ls"))
		require.NoError(t, hear(client, req).err)
		require.NotContains(t, string(w.bodies[0]), "reasoning_content")
		require.Contains(t, string(w.bodies[1]), `"reasoning_content":" "`)
	})
	t.Run("refused for ever", func(t *testing.T) {
		t.Parallel()
		client, w := clientFor(t, testConfig(), reply(400, `{"error":{"message":"stream_options"}}`))
		e := failure(t, hear(client, question("x")).err)
		require.Equal(t, ClassBadRequest, e.Class)
		require.Len(t, w.bodies, 2, "once more, not for ever")
	})
}
