package activities

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"deerflow/config"
	"deerflow/internal/agent"
	"deerflow/internal/model"
	"deerflow/internal/step"
	"deerflow/internal/thread"
)

// summaryTimeout bounds the call of one model for a summary: there is always a
// way without it.
const summaryTimeout = 50 * time.Second

// summaryText is what came of asking models for one.
type summaryText struct {
	text      string // "" when no model wrote it
	model     string // who wrote it
	usage     thread.Usage
	failures  []string // of the models that were asked in vain
	retryable bool     // another attempt may help
}

func (s *summaryText) failed() string { return strings.Join(s.failures, "; ") }

// writeSummary asks the configured model, then the run's own (D04). Its error is
// only one of the way to them all.
func (a *Activities) writeSummary(ctx context.Context, in step.SummarizeInput, plan *agent.Plan, material agent.SummaryInput) (summaryText, error) {
	var out summaryText
	prompt, err := agent.SummaryPrompt(material)
	if err != nil {
		return out, err
	}
	asked := in.Model
	if asked == "" {
		asked = plan.Summarizer.Model
	}
	names := []string{asked, plan.Summary.Model}
	if asked == "" || asked == plan.Summary.Model {
		names = names[1:]
	}
	for _, name := range names {
		response, err := a.askForSummary(ctx, in, plan, name, prompt)
		if ctx.Err() != nil {
			return out, ctx.Err()
		}
		if response != nil {
			out.usage = out.usage.Add(response.Usage)
		}
		if err == nil {
			out.text, out.model = agent.BoundSummary(response.Message.Content.String(), material.Tokens), name
			return out, nil
		}
		var failed *model.Error
		out.retryable = out.retryable || errors.As(err, &failed) && failed.Retryable
		out.failures = append(out.failures, fmt.Sprintf("model %s wrote no summary: %s", name, reasonOf(err)))
	}
	return out, nil
}

func reasonOf(err error) string {
	var failed *model.Error
	if errors.As(err, &failed) && failed.Message != "" {
		return strings.TrimRight(thread.Prefix(failed.Message, 300), ". ")
	}
	return thread.Prefix(err.Error(), 300)
}

// askForSummary makes one call. An answer without text is a failure, also one
// that asks for a tool: none was offered.
func (a *Activities) askForSummary(ctx context.Context, in step.SummarizeInput, plan *agent.Plan, name, prompt string) (*model.Response, error) {
	chatter, err := a.summarizer(plan, name)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, summaryTimeout)
	defer cancel()
	response, err := chatter.Chat(ctx, model.Request{Messages: []thread.Message{thread.Human("prompt", prompt)}, Scope: in.MessageID}, nil)
	if err != nil {
		return nil, err
	}
	if strings.TrimSpace(response.Message.Content.String()) == "" {
		return response, errors.New("its answer has no text")
	}
	return response, nil
}

// summarizer is the client of a model that is asked for a summary: the run's own
// as the plan has it, any other one as it is configured now.
func (a *Activities) summarizer(plan *agent.Plan, name string) (model.Chatter, error) {
	m, known := a.o.Config().Model(name)
	if !known {
		return nil, errors.New("it is not configured")
	}
	if m.Use == config.UseDemo {
		return nil, errors.New("the demo model follows a script")
	}
	if name == plan.Summary.Model {
		return a.chatter(plan)
	}
	stored, err := json.Marshal(modelOf(m))
	if err != nil {
		return nil, fmt.Errorf("encode model %q: %w", name, err)
	}
	return a.chatter(&agent.Plan{Summary: agent.Summary{Model: name}, Model: stored})
}
