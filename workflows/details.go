package workflows

import (
	"fmt"
	"strings"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"deerflow/internal/thread"
)

// The search attributes of a thread. User text stands in the title only.
var (
	attrStatus = temporal.NewSearchAttributeKeyKeyword("DeerflowStatus")
	attrTitle  = temporal.NewSearchAttributeKeyKeyword("DeerflowTitle")
	attrAgent  = temporal.NewSearchAttributeKeyKeyword("DeerflowAgent")
	attrUser   = temporal.NewSearchAttributeKeyKeyword("DeerflowUser")
	attrModel  = temporal.NewSearchAttributeKeyKeyword("DeerflowModel")
	attrTokens = temporal.NewSearchAttributeKeyInt64("DeerflowTokens")
)

// titleRunes is how much of a title is searchable.
const titleRunes = 255

// StatusReport answers the status query.
type StatusReport struct {
	Status    thread.Status      `json:"status"`
	RunID     string             `json:"run_id,omitempty"`
	Turn      int                `json:"turn,omitempty"`
	Model     string             `json:"model,omitempty"`
	Questions []thread.Interrupt `json:"questions,omitempty"`
	Queued    int                `json:"queued,omitempty"`
	Messages  int                `json:"messages"`
	Notice    string             `json:"notice,omitempty"`
}

func (c *conversation) report() StatusReport {
	r := StatusReport{
		Status: c.status(), Questions: c.st.Interrupts, Queued: len(c.st.Queue),
		Messages: len(c.digests), Notice: c.notice,
	}
	if l := c.st.Loop; l != nil {
		r.RunID, r.Turn, r.Model = l.RunID, l.Turn, l.Plan.Model
	}
	return r
}

// show tells people what the thread is doing: the details of the Web UI, which
// cost no event, and the search attributes, which cost one when they change.
func (c *conversation) show(ctx workflow.Context) {
	workflow.SetCurrentDetails(ctx, c.details())
	if !c.in.Settings.SearchAttributes {
		return
	}
	status := string(c.status())
	if status == c.st.Shown {
		return
	}
	updates := []temporal.SearchAttributeUpdate{attrStatus.ValueSet(status), attrUser.ValueSet(c.in.User)}
	if title := c.title(); title != "" {
		updates = append(updates, attrTitle.ValueSet(title))
	}
	if l := c.st.Loop; l != nil && l.Started {
		updates = append(updates, attrAgent.ValueSet(l.Plan.Agent), attrModel.ValueSet(l.Plan.Model))
	}
	if c.st.Tokens > 0 {
		updates = append(updates, attrTokens.ValueSet(int64(c.st.Tokens)))
	}
	if err := workflow.UpsertTypedSearchAttributes(ctx, updates...); err != nil {
		workflow.GetLogger(ctx).Warn("The search attributes could not be set", "error", err)
		return
	}
	c.st.Shown = status
}

// title is the thread's, or the beginning of its first question.
func (c *conversation) title() string {
	if c.st.State.Title != "" {
		return cutRunes(c.st.State.Title)
	}
	return cutRunes(c.st.Question)
}

func cutRunes(s string) string {
	r := []rune(strings.Join(strings.Fields(s), " "))
	return string(r[:min(len(r), titleRunes)])
}

func (c *conversation) details() string {
	var b strings.Builder
	r := c.report()
	if t := c.title(); t != "" {
		fmt.Fprintf(&b, "### %s\n\n", t)
	}
	fmt.Fprintf(&b, "**Status:** %s", r.Status)
	if r.Model != "" {
		fmt.Fprintf(&b, " · model %s · turn %d", r.Model, r.Turn)
	}
	if r.Queued > 0 {
		fmt.Fprintf(&b, " · %d more queued", r.Queued)
	}
	b.WriteString("\n")
	if r.Notice != "" {
		fmt.Fprintf(&b, "\n> %s\n", r.Notice)
	}
	for _, q := range r.Questions {
		fmt.Fprintf(&b, "\n**Question:** %s\n", q.Value.Question)
		for i, o := range q.Value.Options {
			fmt.Fprintf(&b, "%d. %s\n", i+1, o.Label)
		}
		b.WriteString("\nAnswer with the update or signal `answer`: `{\"text\": \"...\"}`.\n")
	}
	if len(c.st.State.Artifacts) > 0 {
		b.WriteString("\n**Files:**\n")
		for _, a := range c.st.State.Artifacts {
			fmt.Fprintf(&b, "- `%s`\n", a)
		}
	}
	if n := len(c.digests); n > 0 && c.digests[n-1].Role == thread.RoleAI && c.digests[n-1].Text != "" {
		fmt.Fprintf(&b, "\n**Last answer:** %s\n", c.digests[n-1].Text)
	}
	return b.String()
}
