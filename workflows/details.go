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

// SearchAttributes are the search attributes that a thread sets, which the
// namespace must have.
func SearchAttributes() []temporal.SearchAttributeKey {
	return []temporal.SearchAttributeKey{attrStatus, attrTitle, attrAgent, attrUser, attrModel, attrTokens}
}

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

// details is what the thread is doing, in Markdown, for the Web UI. Text from
// outside stands in it as quotes and code spans: it forges no heading of ours.
func (c *conversation) details() string {
	var b strings.Builder
	r := c.report()
	if t := c.title(); t != "" {
		fmt.Fprintf(&b, "### %s\n\n", t)
	}
	fmt.Fprintf(&b, "**%s**", inWords(r.Status))
	if r.Model != "" {
		fmt.Fprintf(&b, " · model %s · turn %d", r.Model, r.Turn)
	}
	if c.st.Tokens > 0 {
		fmt.Fprintf(&b, " · %d tokens", c.st.Tokens)
	}
	if r.Queued > 0 {
		fmt.Fprintf(&b, " · %d more queued", r.Queued)
	}
	b.WriteString("\n")
	if r.Notice != "" {
		fmt.Fprintf(&b, "\n> %s\n", r.Notice)
	}
	for i := range r.Questions {
		writeQuestion(&b, &r.Questions[i].Value)
	}
	if len(r.Questions) > 0 {
		b.WriteString("\nAnswer with the update or signal `answer`, input `{\"text\": \"...\"}`, or with `deerflow threads reply " +
			c.in.Thread + "`.\n")
	}
	if len(c.st.State.Artifacts) > 0 {
		b.WriteString("\n**Files**\n\n")
		for _, a := range c.st.State.Artifacts {
			fmt.Fprintf(&b, "- `%s`\n", a)
		}
	}
	if n := len(c.digests); n > 0 && c.digests[n-1].Role == thread.RoleAI && c.digests[n-1].Text != "" {
		fmt.Fprintf(&b, "\n**Last answer**\n\n%s\n", quote(c.digests[n-1].Text))
	}
	return b.String()
}

// inWords says a status as people do.
func inWords(s thread.Status) string {
	switch s {
	case thread.StatusBusy:
		return "Working"
	case thread.StatusInterrupted:
		return "Waiting for you"
	case thread.StatusError:
		return "Failed"
	default:
		return "Done"
	}
}

func writeQuestion(b *strings.Builder, card *thread.Card) {
	fmt.Fprintf(b, "\n%s\n", quote("**"+strings.TrimSpace(card.Question)+"**"))
	if len(card.Options) > 0 {
		b.WriteString("\n")
	}
	for i, o := range card.Options {
		fmt.Fprintf(b, "%d. %s\n", i+1, strings.Join(strings.Fields(o.Label), " "))
	}
}

// quote makes a block quote of text.
func quote(text string) string {
	return "> " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n> ")
}
