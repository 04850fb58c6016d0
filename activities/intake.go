package activities

import (
	"context"
	"errors"
	"time"

	"deerflow/internal/agent"
	"deerflow/internal/step"
	"deerflow/internal/store"
	"deerflow/internal/thread"
)

// intake finds out what a run begins with: the date, what is remembered of the
// user, the files and the skill of its message. The texts become context of the
// run's last message of a user; what cannot be found out is left out, so that the
// run goes on without it.
func (a *Activities) intake(ctx context.Context, in step.StartRunInput, plan *agent.Plan) (step.Intake, []thread.ContextBlock, error) {
	day := today(a.now(), in.Options.TimeZone)
	out := step.Intake{Day: day.Format(time.DateOnly)}
	message, err := a.addressed(ctx, in)
	if err != nil || message == nil {
		return out, nil, err
	}
	var blocks []thread.ContextBlock
	if out.Day != in.LastDay {
		blocks = append(blocks, dateBlock(day))
	}
	if in.LastDay == "" {
		blocks = append(blocks, a.recall(ctx, in, plan)...)
	}
	files, err := a.uploaded(ctx, in, message)
	if err != nil {
		return out, nil, err
	}
	blocks = append(blocks, filesBlock(files, plan)...)
	out.Uploads = uploadsState(files)
	skill, guide := a.activate(ctx, in, plan, message)
	out.Skill = skill
	blocks = append(blocks, guide...)
	if len(blocks) > 0 {
		out.Message = message.ID
	}
	return out, blocks, nil
}

// addressed is the message of the run that context goes to, nil when there is
// none: what the user said last, or the last that the run says for a user.
func (a *Activities) addressed(ctx context.Context, in step.StartRunInput) (*thread.Message, error) {
	if in.Stop {
		return nil, nil // it is only started to be ended
	}
	rows, err := a.o.Store.RunInput(ctx, in.Thread, in.Run)
	if err != nil {
		return nil, err
	}
	var said, last *thread.Message
	if in.Message != nil {
		rows = append(rows, store.Row{Message: *in.Message})
	}
	for i := range rows {
		m := &rows[i].Message
		if m.Role != thread.RoleHuman {
			continue
		}
		last = m
		if d := m.Digest(0); d.UserText() {
			said = m
		}
	}
	if said != nil {
		return said, nil
	}
	return last, nil
}

// told is the intake of a run as its message tells it: a run that is started once
// more, on the next day maybe, keeps what it has.
func told(out step.Intake, rows []store.Row) step.Intake {
	for i := range rows {
		if rows[i].ID != out.Message {
			continue
		}
		for _, block := range rows[i].Message.Context() {
			if block.Day != "" {
				out.Day = block.Day
			}
		}
	}
	return out
}

func (a *Activities) now() time.Time {
	if a.o.Now == nil {
		return time.Now()
	}
	return a.o.Now()
}

// today is the time in the user's zone; a zone that is not known is the server's.
func today(now time.Time, zone string) time.Time {
	if zone == "" {
		return now.Local()
	}
	place, err := time.LoadLocation(zone)
	if err != nil {
		return now.Local()
	}
	return now.In(place)
}

func dateBlock(day time.Time) thread.ContextBlock {
	return thread.ContextBlock{
		Kind: thread.ContextDate, Day: day.Format(time.DateOnly),
		Text: "<system-reminder>\n<current_date>" + day.Format("2006-01-02, Monday") + "</current_date>\n</system-reminder>",
	}
}

// Memory knows what is remembered of a user.
type Memory interface {
	// Recall is what an agent is reminded of when a thread begins, "" for nothing.
	Recall(ctx context.Context, user, agentName string) (string, error)
}

// recallTimeout is how long the start of a run waits for a memory.
const recallTimeout = 5 * time.Second

// recall asks the memory, which must not hold up an answer (L04).
func (a *Activities) recall(ctx context.Context, in step.StartRunInput, plan *agent.Plan) []thread.ContextBlock {
	if cfg := a.o.Config().Memory; a.o.Memory == nil || !cfg.Enabled || !cfg.InjectionEnabled {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, a.recallTimeout)
	defer cancel()
	type answer struct {
		text string
		err  error
	}
	answered := make(chan answer, 1)
	go func() {
		text, err := a.o.Memory.Recall(ctx, in.User, plan.Summary.Agent)
		answered <- answer{text, err}
	}()
	var got answer
	select {
	case got = <-answered:
	case <-ctx.Done():
		got.err = ctx.Err()
	}
	if got.err != nil {
		a.o.Logger.Warn("What is remembered could not be read; the run goes on without it", "run", in.Run, "error", got.err)
		return nil
	}
	if got.text == "" {
		return nil
	}
	return []thread.ContextBlock{{
		Kind: thread.ContextMemory,
		Text: "<system-reminder>\n<memory>\n" + agent.Neutralize(got.text) + "\n</memory>\n</system-reminder>",
	}}
}

// Skills finds the skills that a user may call by name.
type Skills interface {
	// Resolve reads the guide of a skill. One that cannot be used is an
	// [agent.SkillError].
	Resolve(ctx context.Context, user, agentName, name string) (agent.SkillGuide, error)
}

// activate reads the guide of the skill that a message calls by name. A name that
// no skill has is text like any other (H07).
func (a *Activities) activate(ctx context.Context, in step.StartRunInput, plan *agent.Plan, m *thread.Message) (*step.SkillIntake, []thread.ContextBlock) {
	name, request, called := agent.ParseSlash(m.Content.String())
	if !called || a.o.Skills == nil {
		return nil, nil
	}
	guide, err := a.o.Skills.Resolve(ctx, in.User, plan.Summary.Agent, name)
	if err != nil {
		fault := &agent.SkillError{Name: name, Fault: agent.SkillUnresolved}
		if !errors.As(err, &fault) {
			a.o.Logger.Warn("A skill could not be looked up", "skill", name, "run", in.Run, "error", err)
		}
		if fault.Fault == agent.SkillUnknown {
			return nil, nil
		}
		return &step.SkillIntake{Refusal: fault.Reply()}, nil
	}
	ref := thread.SkillRef{
		Name: guide.Name, Path: guide.Path, Description: thread.FirstRunes(guide.Description, 500),
		LoadedAt: a.now().UTC().Format(time.RFC3339),
	}
	return &step.SkillIntake{Ref: ref}, []thread.ContextBlock{guide.Block(request)}
}
