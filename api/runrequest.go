package api

import (
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"deerflow/internal/thread"
)

// leadAgent is the assistant that answers unless a custom agent is named.
const leadAgent = "lead_agent"

// runRequest is a checked request for a run (spec: RunCreate).
type runRequest struct {
	assistant    string
	options      thread.RunOptions
	messages     []thread.Message // of the input, or beside the answer by command
	resume       json.RawMessage  // nil when the run is no answer by command
	modes        modeSet
	multitask    thread.Multitask
	cancelOnDrop bool // the run ends when the creating connection is dropped
	createThread bool
	checkpoint   string // the checkpoint to go on from; "" for the newest
	metadata     json.RawMessage
	kwargs       json.RawMessage
	key          string // of idempotency; "" for none
}

const (
	maxKey = 255
	// maxRunData bounds what is kept with a run for its client to read back: each
	// list of runs shows it.
	maxRunData = 256 << 10
)

// parseRun checks the body of a request for a run of a thread.
func (s *Server) parseRun(c echo.Context, body object, threadID string) (runRequest, error) {
	var err error
	r := runRequest{
		modes:        parseModes(body),
		multitask:    parseMultitask(body),
		cancelOnDrop: body.oneOf("on_disconnect", "continue", "cancel") == "cancel",
		createThread: body.oneOf("if_not_exists", "reject", "create") == "create",
		metadata:     metadataOf(body),
		key:          strings.TrimSpace(c.Request().Header.Get("Idempotency-Key")),
	}
	if len(r.key) > maxKey || !utf8.ValidString(r.key) {
		return r, invalidField("string_type", "An idempotency key is a text of at most 255 characters", "header", "Idempotency-Key")
	}
	acceptDefaults(body)
	r.assistant, r.options.AgentName = parseAssistant(body)
	parseOptions(body, &r.options)
	if r.checkpoint, err = parseCheckpoint(threadID, body); err != nil {
		return r, err
	}
	command := parseCommand(body)
	r.resume = command.resume
	if err := body.err(); err != nil {
		return r, err
	}
	if r.messages, err = parseInput(body, command); err != nil {
		return r, err
	}
	if err := s.checkModel(r.options.Model); err != nil {
		return r, err
	}
	if r.kwargs, err = kwargsOf(body); err != nil {
		return r, err
	}
	for name, data := range map[string]json.RawMessage{"metadata": r.metadata, "config and context": r.kwargs} {
		if len(data) > maxRunData {
			return r, fail(http.StatusRequestEntityTooLarge, "The %s of a run has %d bytes, at most %d KiB are kept with it", name, len(data), maxRunData>>10)
		}
	}
	return r, nil
}

// acceptDefaults goes over the fields that clients send and that change
// nothing here: what an SDK sends by default is taken, a value that asks for
// something we do not do is refused with its name (E09).
func acceptDefaults(body object) {
	for _, key := range []string{"stream_subgraphs", "stream_resumable", "checkpoint_during", "strict_resume"} {
		body.flag(key) // nothing is lost, whatever they say
	}
	body.oneOf("durability", "", "sync", "async", "exit") // every step is durable
	body.oneOf("on_completion", "", "keep", "complete", "continue")
	body.unsupported("webhook", "after_seconds", "feedback_keys", "interrupt_before", "interrupt_after", "langsmith_tracer")
}

// parseMultitask reads the strategy; only the four of the API are known.
func parseMultitask(body object) thread.Multitask {
	return thread.Multitask(body.oneOf("multitask_strategy", string(thread.MultitaskReject),
		string(thread.MultitaskInterrupt), string(thread.MultitaskRollback), string(thread.MultitaskEnqueue)))
}

var agentName = regexp.MustCompile(`^[a-z0-9-]+$`)

// parseAssistant reads which assistant is meant; one that is not the lead agent
// is a custom agent of that name.
func parseAssistant(body object) (assistant, agent string) {
	assistant = body.word("assistant_id")
	if assistant == "" || assistant == leadAgent {
		return leadAgent, ""
	}
	agent = strings.ReplaceAll(strings.ToLower(assistant), "_", "-")
	if !agentName.MatchString(agent) {
		body.fault("assistant_id", "string_pattern_mismatch", "An assistant id has letters, digits, '_' and '-' only, got %q",
			thread.Prefix(assistant, 80))
	}
	return assistant, agent
}

// parseCheckpoint reads the checkpoint to go on from.
func parseCheckpoint(threadID string, body object) (string, error) {
	if raw := body.get("checkpoint"); raw != nil {
		named := body.child("checkpoint")
		if other := named.text("thread_id"); other != "" && other != threadID {
			return "", fail(http.StatusBadRequest, "checkpoint.thread_id is %q, the run is for thread %s", thread.Prefix(other, 80), threadID)
		}
		if id := named.text("checkpoint_id"); id != "" {
			return id, nil
		}
	}
	return body.text("checkpoint_id"), nil
}

func (s *Server) checkModel(name string) error {
	models := s.o.Settings().Models
	if name == "" || len(models) == 0 || slices.Contains(models, name) {
		return nil
	}
	return fail(http.StatusBadRequest, "Model '%s' is not in the configured model allowlist: %s",
		thread.Prefix(name, 120), strings.Join(models, ", "))
}

// kwargsOf keeps what a client may want to read back of its request, without
// the input, which stands in the transcript.
func kwargsOf(body object) (json.RawMessage, error) {
	kept := map[string]json.RawMessage{}
	for _, key := range []string{"config", "context", "stream_mode", "stream_subgraphs", "on_disconnect", "durability"} {
		if raw := body.get(key); raw != nil {
			kept[key] = raw
		}
	}
	return json.Marshal(kept)
}
