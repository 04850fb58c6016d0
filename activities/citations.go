package activities

import (
	"context"
	"io"
	"path"
	"slices"
	"strings"
	"time"

	"deerflow/internal/agent"
	"deerflow/internal/evidence"
	"deerflow/internal/sandbox"
	"deerflow/internal/step"
	"deerflow/internal/store"
	"deerflow/internal/thread"
	"deerflow/internal/tools"
)

// Bounds of looking for the addresses that no tool has fetched or found.
const (
	checkTimeout = 3 * time.Second
	maxSearched  = 50      // addresses of a document
	maxReport    = 2 << 20 // bytes of a file
	maxMarked    = 50      // flags that stand on the message, which every reader gets
)

// checkAnswer judges the citations of a message that ends a loop, and stamps it
// where some are flagged. A check that cannot be made fails no answer.
func (a *Activities) checkAnswer(ctx context.Context, ref step.Ref, m *thread.Message) []evidence.Check {
	if m.CallCount() > 0 || m.Content.String() == "" {
		return nil
	}
	check, ok := a.check(ctx, ref, evidence.PlaceAnswer, m.Content.String())
	if !ok {
		return nil
	}
	if len(check.Flags) > 0 {
		m.SetKwarg(evidence.KeyCitations, map[string]any{
			"citations": check.Citations, "flagged": len(check.Flags), "flags": check.Flags[:min(len(check.Flags), maxMarked)],
		})
	}
	return []evidence.Check{check}
}

// checkFiles judges the citations of the Markdown files that a call has presented
// or written. Of presented ones it tells the model what to mend.
func (a *Activities) checkFiles(ctx context.Context, in step.CallToolInput, spec agent.ToolSpec, result *tools.Result) []evidence.Check {
	if result.Error || in.Reply != nil {
		return nil
	}
	if len(result.State.Artifacts) == 0 && spec.Writes == "" {
		return nil
	}
	box, err := a.o.Sandboxes.Acquire(ctx, in.User, in.Thread)
	if err != nil {
		a.o.Logger.Warn("The citations of files were not checked", "thread", in.Thread, "error", err)
		return nil
	}
	files := slices.Clone(result.State.Artifacts)
	if spec.Writes != "" {
		files = append(files, a.written(ctx, in, spec, box)...)
	}
	files = slices.DeleteFunc(files, func(file string) bool { return !isReport(file) })
	var checks []evidence.Check
	for _, file := range files {
		document, err := readReport(ctx, box, file)
		if err != nil {
			a.o.Logger.Warn("The citations of a file were not checked", "thread", in.Thread, "file", file, "error", err)
			continue
		}
		check, ok := a.check(ctx, in.Ref, file, document)
		if !ok {
			continue
		}
		checks = append(checks, check)
		if note := check.Note(); note != "" && slices.Contains(result.State.Artifacts, file) {
			result.Text += "\n\n" + note
		}
	}
	return checks
}

// isReport reports whether a file is Markdown that a user is to read.
func isReport(file string) bool {
	ext := strings.ToLower(path.Ext(file))
	return strings.HasPrefix(file, sandbox.Outputs+"/") && (ext == ".md" || ext == ".markdown")
}

// written is the file that a call has changed, by its virtual path.
func (a *Activities) written(ctx context.Context, in step.CallToolInput, spec agent.ToolSpec, box sandbox.Sandbox) []string {
	call, err := a.callOf(ctx, in)
	if err != nil {
		return nil // a call that cannot be read has written nothing
	}
	virtual, err := box.Virtual(spec.Target(call))
	if err != nil {
		return nil
	}
	return []string{virtual}
}

func readReport(ctx context.Context, box sandbox.Sandbox, file string) (string, error) {
	f, _, err := box.Open(ctx, file)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, maxReport))
	return strings.ToValidUTF8(string(data), "\uFFFD"), err
}

// check judges the citations of a document. It reports false when it could not
// find out what they rest on.
func (a *Activities) check(ctx context.Context, ref step.Ref, place, document string) (evidence.Check, bool) {
	citations := evidence.Citations(document)
	if len(citations) == 0 {
		return evidence.Check{Place: place}, true
	}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	keys := make([]string, len(citations))
	for i := range citations {
		keys[i] = citations[i].Key
	}
	known, err := a.o.Store.KnownPages(ctx, ref.Thread, keys)
	if err != nil {
		a.o.Logger.Warn("The citations of a document were not checked", "thread", ref.Thread, "place", place, "error", err)
		return evidence.Check{}, false
	}
	rest := &named{a: a, ref: ref}
	for i := range citations {
		needle := evidence.Needle(citations[i].URL)
		if known[citations[i].Key] != evidence.Fetched && needle != "" && len(rest.needles) < maxSearched {
			rest.needles = append(rest.needles, needle)
		}
	}
	return evidence.Judge(place, citations, func(c evidence.Citation) evidence.Grade {
		if g := known[c.Key]; g == evidence.Fetched {
			return g
		}
		g, err := rest.grade(ctx, c)
		if err != nil {
			a.o.Logger.Warn("Not all was searched for a cited address", "thread", ref.Thread, "url", c.URL, "error", err)
		}
		if g == evidence.Given || known[c.Key] == "" {
			return g
		}
		return known[c.Key]
	}), true
}

// named looks for addresses that no tool has fetched: users name pages, and so do
// their files and tools that fetch none.
type named struct {
	a        *Activities
	ref      step.Ref
	needles  []string // what may be searched
	uploaded map[string]bool
	looked   bool // through the uploads
}

func (n *named) grade(ctx context.Context, c evidence.Citation) (evidence.Grade, error) {
	needle := evidence.Needle(c.URL)
	if !slices.Contains(n.needles, needle) {
		return evidence.Unknown, nil
	}
	messages, err := n.a.o.Store.Mentions(ctx, n.ref.Thread, needle)
	if err != nil {
		return evidence.Unknown, err
	}
	grade := evidence.Unknown
	for i := range messages {
		m := &messages[i]
		switch {
		case !evidence.Mentions(m.Content.String(), needle):
		case m.Role == thread.RoleHuman && !m.IsSummary():
			return evidence.Given, nil
		case m.Role == thread.RoleTool && !ownTools[m.Name]:
			grade = evidence.Found
		}
	}
	if !n.looked {
		n.looked = true
		n.uploaded, err = n.a.uploadsNaming(ctx, n.ref, n.needles)
	}
	if n.uploaded[needle] {
		return evidence.Given, nil
	}
	return grade, err
}

// ownTools are those whose results name no pages of their own: they show what the
// model itself has written, or what was fetched is known of them.
var ownTools = map[string]bool{
	"bash": true, "ls": true, "read_file": true, "write_file": true, "str_replace": true, "glob": true, "grep": true,
	"present_files": true, "view_image": true, "write_todos": true, "ask_clarification": true,
	"web_search": true, "web_fetch": true, "image_search": true, "web_capture": true,
}

// beside is what a call leaves beside its result: pages, what became of the
// citations of files, and what was done to files.
func (a *Activities) beside(ctx context.Context, in step.CallToolInput, spec agent.ToolSpec, result *tools.Result) store.NewRow {
	row := store.NewRow{Checks: a.checkFiles(ctx, in, spec, result), Sources: sourcesOf(in, result)}
	if in.Reply == nil && changesFiles(spec) {
		row.Changes = a.changes(ctx, in.Ref)
	}
	return row
}

// sourcesOf are the pages that a call brought, as they are stored. A call that
// failed brought none: an error page is no evidence (N08).
func sourcesOf(in step.CallToolInput, result *tools.Result) []store.Source {
	if result.Error {
		return nil
	}
	var sources []store.Source
	for _, s := range result.Sources {
		at := s.FetchedAt
		if at.IsZero() {
			at = time.Now()
		}
		sources = append(sources, store.Source{
			CallID: in.Call, Tool: in.Name, Kind: s.Kind, URL: s.URL, FinalURL: s.FinalURL, Title: s.Title,
			Text: s.Text, BodyHash: s.SHA256, At: at,
		})
	}
	return sources
}
