package activities

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"time"

	"deerflow/config"
	"deerflow/internal/agent"
	"deerflow/internal/failpoint"
	"deerflow/internal/step"
	"deerflow/internal/store"
	"deerflow/internal/thread"
	"deerflow/internal/tools"
)

// StartRun fixes the plan of a run and takes the run's messages into the
// transcript.
func (a *Activities) StartRun(parent context.Context, in step.StartRunInput) (step.StartRunResult, error) {
	ctx, done, err := alive(parent)
	if err != nil {
		return step.StartRunResult{}, err
	}
	defer done()
	doing := "start run " + in.Run
	plan, err := a.resolve(ctx, in)
	if err != nil {
		return step.StartRunResult{}, border(ctx, doing, err)
	}
	hash, data, err := plan.Hash()
	if err != nil {
		return step.StartRunResult{}, err
	}
	intake, blocks, err := a.intake(ctx, in, plan)
	if err != nil {
		return step.StartRunResult{}, border(ctx, doing, err)
	}
	rows, err := a.o.Store.StartRun(ctx, store.StartRun{
		Ref: in.Ref, Pos: in.Pos, Parent: in.Parent, Message: in.Message, AssistantID: plan.Summary.Agent,
		PlanHash: hash, Plan: data, Answers: in.Answers, LoopVersion: in.LoopVersion, At: a.now(),
		Context: blocks, ContextOf: intake.Message, Baseline: a.baseline(ctx, in.Ref),
	})
	if err != nil {
		return step.StartRunResult{}, border(ctx, doing, err)
	}
	if in.Stop {
		if rows, err = a.made(ctx, in, rows); err != nil {
			return step.StartRunResult{}, border(ctx, doing, err)
		}
	}
	failpoint.Here(failpoint.RunStarted, in.Thread)
	out := step.StartRunResult{PlanHash: hash, Plan: plan.Summary, Intake: told(intake, rows), LoopVersion: in.LoopVersion}
	for i := range rows {
		out.Messages = append(out.Messages, plan.DigestOf(&rows[i].Message, rows[i].Pos))
	}
	return out, nil
}

// made adds to the messages of a run what its steps have made of it.
func (a *Activities) made(ctx context.Context, in step.StartRunInput, rows []store.Row) ([]store.Row, error) {
	from := in.Pos + int64(len(rows))
	newer, err := a.o.Store.Messages(ctx, in.Thread, thread.Cursor{Segments: []thread.Segment{{From: from, To: math.MaxInt64}}})
	if err != nil {
		return nil, err
	}
	for _, r := range newer {
		if r.RunID == in.Run && !r.Message.IsSummary() {
			rows = append(rows, r)
		}
	}
	return rows, nil
}

// resolve makes the plan from the configuration in force. A loop that goes on
// after a question keeps the plan it has, unless its model has left the
// configuration, or is somewhere else now.
func (a *Activities) resolve(ctx context.Context, in step.StartRunInput) (*agent.Plan, error) {
	cfg := a.o.Config()
	if in.KeepPlan != "" {
		kept, err := a.plan(ctx, in.KeepPlan)
		if err != nil {
			return nil, fmt.Errorf("read plan %s: %w", in.KeepPlan, err)
		}
		var m storedModel
		if err := json.Unmarshal(kept.Model, &m); err != nil {
			return nil, fmt.Errorf("read model %q of plan %s: %w", kept.Summary.Model, in.KeepPlan, err)
		}
		if _, ok := m.entry(cfg); ok {
			return kept, nil
		}
		a.o.Logger.Warn("The model of a waiting run has left the configuration; the default takes its place", "run", in.Run, "model", kept.Summary.Model)
	}
	return a.newPlan(cfg, in.Options)
}

func (a *Activities) newPlan(cfg *config.Config, o thread.RunOptions) (*agent.Plan, error) {
	m, known := cfg.Model(o.Model)
	if !known && o.Model != "" {
		a.o.Logger.Warn("A run asks for a model that is not configured; the default takes its place", "asked", o.Model, "default", m.Name)
	}
	set, err := a.toolset(cfg, tools.Conditions{PlanMode: o.PlanMode, Vision: m.SupportsVision, Unattended: o.NonInteractive})
	if err != nil {
		return nil, err
	}
	stored, err := json.Marshal(modelOf(m))
	if err != nil {
		return nil, fmt.Errorf("encode model %q: %w", m.Name, err)
	}
	plan := &agent.Plan{Model: stored, Tools: set.Specs(), Effort: effort(m, o)}
	plan.Thinking = m.SupportsThinking && (o.ThinkingEnabled == nil || *o.ThinkingEnabled)
	plan.Summary = summary(cfg, m, o)
	plan.TitlePrompt = cfg.Title.PromptTemplate
	for _, t := range plan.Tools {
		plan.Summary.Tools = append(plan.Summary.Tools, agent.Brief{Name: t.Name, Class: t.Class, Timeout: t.Timeout})
	}
	plan.Prompt, err = agent.Prompt(promptInput(cfg, plan, o))
	plan.Summarizer, plan.Summary.Window = summarizer(cfg), windowRule(m, plan)
	return plan, err
}

// leadAgent is the agent that answers unless a run names another.
const leadAgent = "lead_agent"

func summary(cfg *config.Config, m config.Model, o thread.RunOptions) agent.Summary {
	s := agent.Summary{
		Agent: leadAgent, Model: m.Name, MaxTurns: cfg.Thread.MaxTurns,
		ModelCall: callPolicy(cfg, m),
		Loop: agent.LoopSettings{
			Enabled: cfg.LoopDetection.Enabled, Warn: cfg.LoopDetection.WarnThreshold, Hard: cfg.LoopDetection.HardLimit,
			Window: cfg.LoopDetection.WindowSize, FreqWarn: cfg.LoopDetection.ToolFreqWarn, FreqHard: cfg.LoopDetection.ToolFreqHardLimit,
		},
		Clarification: agent.ClarificationRule{Timeout: cfg.Clarification.Timeout, OnTimeout: cfg.Clarification.OnTimeout},
		Input:         inputRule(cfg),
		Memory:        cfg.Memory.Enabled,
		Summarization: summarizationRule(cfg),
	}
	guardTools(&s, cfg)
	answerRules(&s, cfg, m, o)
	if o.RecursionLimit > 0 {
		s.MaxTurns = min(s.MaxTurns, o.RecursionLimit, cfg.MaxRecursionLimit)
	}
	for name, f := range cfg.LoopDetection.ToolFreqOverrides {
		if s.Loop.FreqOverrides == nil {
			s.Loop.FreqOverrides = map[string]agent.FreqLimit{}
		}
		s.Loop.FreqOverrides[name] = agent.FreqLimit{Warn: f.Warn, Hard: f.HardLimit}
	}
	return s
}

func effort(m config.Model, o thread.RunOptions) string {
	if o.ReasoningEffort != "" {
		return o.ReasoningEffort
	}
	return m.ReasoningEffort
}

// Bounds of a model call that is not bounded by the configuration: an answer may
// be written for half an hour, an outage is outlived for ten minutes.
const (
	longestCall   = 30 * time.Minute
	longestOutage = 10 * time.Minute
)

// callPolicy bounds a model call by count and time.
func callPolicy(cfg *config.Config, m config.Model) agent.ModelCallPolicy {
	p := agent.ModelCallPolicy{
		Timeout: longestCall, BaseDelay: cfg.LLMCall.RetryBaseDelay, MaxDelay: cfg.LLMCall.RetryCapDelay,
		BurstDelay: cfg.LLMCall.BurstRetryBaseDelay,
	}
	if m.Timeout > 0 {
		p.Timeout = m.Timeout + 30*time.Second // the client ends it first, with a reason
	}
	if p.BaseDelay <= 0 {
		p.BaseDelay = time.Millisecond
	}
	p.MaxDelay = max(p.MaxDelay, p.BaseDelay)
	if n := cfg.LLMCall.RetryMaxAttempts; n > 0 {
		p.MaxAttempts = int32(min(n, 1000))
		return p
	}
	p.MaxAttempts = 1
	for waited, pause := time.Duration(0), p.BaseDelay; waited < longestOutage && p.MaxAttempts < 1000; p.MaxAttempts++ {
		pause = (p.BaseDelay + min(p.MaxDelay, 3*pause)) / 2 // in the mean, see ModelDelay
		waited += pause
	}
	return p
}
