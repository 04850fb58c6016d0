package middleware

import (
	"encoding/json"
	"strings"
	"time"

	"go.temporal.io/sdk/workflow"

	"deerflow/internal/agent"
	"deerflow/internal/step"
	"deerflow/internal/thread"
)

// Title names a thread after its first message (spec 4.21): by the beginning of
// the message, or by a model beside the first call when title.model_name says
// so. A model that is slow, fails or is stopped costs nothing: the run's end
// waits for it two seconds at most, and the beginning of the message takes its
// place. A title that somebody has given stays. Defaults: 6 words, 60
// characters.
type Title struct {
	Base
	rule  agent.TitleRule
	asked workflow.Future // not saved: a workflow that continues as new has let it go
	state titleState
}

type titleState struct {
	Asked bool `json:"asked,omitempty"`
	// Local is the title without a model: the text of the message may have left
	// the digests when it is needed.
	Local string `json:"local,omitempty"`
}

const (
	titlePatience = 2 * time.Second
	localTitleMax = 50 // characters
	noTitle       = "New Conversation"
)

// NewTitle makes the middleware.
func NewTitle(_ workflow.Context, rule agent.TitleRule) *Title { return &Title{rule: rule} }

// Name is Title.
func (*Title) Name() string { return NameTitle }

// BeforeModel asks a model, beside the first call of a thread.
func (t *Title) BeforeModel(ctx workflow.Context, run *Run) (Update, error) {
	first := firstMessage(run)
	if t.rule.Model != "" && !t.state.Asked && first != nil && !first.Empty {
		t.state = titleState{Asked: true, Local: LocalTitle(first.Text, t.rule.MaxChars)}
		t.asked = run.Steps.MakeTitle(ctx, step.MakeTitleInput{Message: first.ID, Pos: first.Pos})
	}
	return Update{}, nil
}

// AfterModel takes the title that is there.
func (t *Title) AfterModel(ctx workflow.Context, run *Run, _ *ModelReply) (Update, error) {
	switch first := firstMessage(run); {
	case first == nil:
		return Update{}, nil
	case t.rule.Model == "":
		return t.local(first), nil
	case t.asked != nil && t.asked.IsReady():
		return t.take(ctx, first), nil
	}
	return Update{}, nil
}

// AfterRun gives a title to a thread whose first run ends without one, also
// when it was stopped before the model said anything.
func (t *Title) AfterRun(ctx workflow.Context, run *Run) (Update, error) {
	first := firstMessage(run)
	if first == nil {
		return Update{}, nil
	}
	if t.asked == nil {
		return t.local(first), nil
	}
	// A wait that is broken off from outside is as good as one that was too long.
	if ready, _ := workflow.AwaitWithTimeout(ctx, titlePatience, t.asked.IsReady); !ready {
		workflow.GetLogger(ctx).Warn("The model of titles is too slow; the thread is named by its first message", "model", t.rule.Model)
		return t.local(first), nil
	}
	return t.take(ctx, first), nil
}

// firstMessage is the user's message of a thread that has no title and only
// this one; nil otherwise.
func firstMessage(run *Run) *thread.Digest {
	if run.State.Title != "" {
		return nil
	}
	var first *thread.Digest
	for i := range run.Messages {
		if !run.Messages[i].UserText() {
			continue
		}
		if first != nil {
			return nil
		}
		first = &run.Messages[i]
	}
	return first
}

// take uses the model's title, or does without.
func (t *Title) take(ctx workflow.Context, first *thread.Digest) Update {
	var out step.MakeTitleResult
	err := t.asked.Get(ctx, &out)
	t.asked = nil
	u := t.local(first)
	if err == nil && out.Title != "" {
		u.State.Title = &out.Title
	}
	if out.Usage.TotalTokens > 0 {
		u.Usage = &out.Usage
	}
	return u
}

// local names the thread without a model. There is nothing to keep after it.
func (t *Title) local(first *thread.Digest) Update {
	title := t.state.Local
	if title == "" {
		title = LocalTitle(first.Text, t.rule.MaxChars)
	}
	t.state.Local = ""
	return Update{State: thread.StateUpdate{Title: &title}}
}

// LocalTitle is the beginning of a text, at most maxChars characters with the
// dots that show a cut (L05).
func LocalTitle(text string, maxChars int) string {
	if maxChars <= 0 {
		maxChars = 60
	}
	r := []rune(strings.Join(strings.Fields(text), " "))
	switch {
	case len(r) == 0:
		return noTitle
	case len(r) <= min(maxChars, localTitleMax):
		return string(r)
	}
	return string(r[:max(min(localTitleMax, maxChars-3), 0)]) + "..."
}

// Save keeps that a model was asked, and what the thread is called without it.
func (t *Title) Save(workflow.Context) (json.RawMessage, error) {
	if t.state == (titleState{}) {
		return nil, nil
	}
	return json.Marshal(t.state)
}

// Restore takes it back.
func (t *Title) Restore(_ workflow.Context, saved json.RawMessage) error {
	return json.Unmarshal(saved, &t.state)
}
