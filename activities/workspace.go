package activities

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"deerflow/internal/agent"
	"deerflow/internal/changes"
	"deerflow/internal/sandbox"
	"deerflow/internal/step"
	"deerflow/internal/store"
)

// surveyTimeout bounds a look at the files of a thread: it must hold up no step.
const surveyTimeout = 500 * time.Millisecond

// storeTimeout bounds the writing of what a look has found for a call that nobody
// waits for any more.
const storeTimeout = 5 * time.Second

// changesFiles reports whether a tool may change files of the thread.
func changesFiles(spec agent.ToolSpec) bool {
	return spec.Class == agent.ClassUnsafe || spec.Writes != ""
}

// surveyed is a survey as the store keeps it.
type surveyed struct {
	Files     []sandbox.Surveyed `json:"files"`
	Truncated bool               `json:"truncated,omitempty"`
	Deep      bool               `json:"deep,omitempty"`
}

// survey looks at the files of a thread. It reports false when nobody can.
func (a *Activities) survey(ctx context.Context, ref step.Ref, known map[string]sandbox.Surveyed) (sandbox.Survey, bool) {
	box, err := a.o.Sandboxes.Acquire(ctx, ref.User, ref.Thread)
	if err != nil {
		return sandbox.Survey{}, false // whoever needs the sandbox says so
	}
	surveyor, ok := box.(sandbox.Surveyor)
	if !ok {
		return sandbox.Survey{}, false
	}
	ctx, cancel := context.WithTimeout(ctx, surveyTimeout)
	defer cancel()
	s, err := surveyor.Survey(ctx, sandbox.SurveyOptions{
		Dirs: []string{sandbox.Outputs, sandbox.Uploads, sandbox.Workspace}, Skip: []string{a.o.Config().ToolOutput.StorageSubdir},
		MaxFiles: changes.MaxScanned, MaxHashed: changes.MaxHashed, MaxRead: changes.MaxRead, MaxText: changes.MaxText, MaxTexts: changes.MaxTexts, Known: known,
	})
	if err != nil {
		a.o.Logger.Warn("The files of a thread were not looked through", "thread", ref.Thread, "error", err)
		return sandbox.Survey{}, false
	}
	return s, true
}

func byPath(files []sandbox.Surveyed) map[string]sandbox.Surveyed {
	known := make(map[string]sandbox.Surveyed, len(files))
	for _, f := range files {
		known[f.Path] = f
	}
	return known
}

// baseline is what the files of a thread are when a run begins; nil when nobody
// can tell. What the run before began with says which files need not be read.
func (a *Activities) baseline(ctx context.Context, ref step.Ref) *store.Baseline {
	before, _, err := a.began(ctx, ref.Thread)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		a.o.Logger.Warn("The files of a thread were not read", "thread", ref.Thread, "error", err)
		return nil
	}
	now, ok := a.survey(ctx, ref, byPath(before.Files))
	if !ok {
		return nil
	}
	files, err := json.Marshal(surveyed{Files: now.Files, Truncated: now.Truncated, Deep: now.Deep})
	if err != nil {
		return nil
	}
	b := &store.Baseline{Files: files, Texts: map[string]string{}}
	total := int64(0)
	for i := range now.Files {
		f := &now.Files[i]
		if f.Hash == "" || f.Size == 0 || f.Size > changes.MaxText || f.Binary || changes.IsSensitive(f.Path) || total+f.Size > changes.MaxTexts {
			continue
		}
		total += f.Size
		if text, ok := now.Texts[f.Hash]; ok {
			b.Texts[f.Hash] = text
		} else {
			b.Kept = append(b.Kept, f.Hash)
		}
	}
	return b
}

// began reads what the files of a thread were when its newest run began.
func (a *Activities) began(ctx context.Context, threadID string) (files surveyed, runID string, err error) {
	runID, data, err := a.o.Store.Baseline(ctx, threadID)
	if err == nil {
		err = json.Unmarshal(data, &files)
	}
	return files, runID, err
}

// ledger is what is known of the files of one run. Calls of a run go through it
// one after the other.
type ledger struct {
	mu    sync.Mutex
	read  bool
	began sandbox.Survey // what the files were; of a run that nobody looked at: empty, and not known
	known map[string]sandbox.Surveyed
	told  string // the changes that were stored last
}

// ledgersKept is how many runs have their ledger in memory.
const ledgersKept = 64

// ledger is the one of a run.
func (a *Activities) ledger(ref step.Ref) *ledger {
	key := ref.Thread + "/" + ref.Run
	l := &ledger{}
	if old, ok, _ := a.ledgers.PeekOrAdd(key, l); ok {
		_, _ = a.ledgers.Get(key) // it was used
		return old
	}
	return l
}

// open reads what the run began with, once.
func (l *ledger) open(ctx context.Context, a *Activities, ref step.Ref) error {
	if l.read {
		return nil
	}
	files, runID, err := a.began(ctx, ref.Thread)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	l.read = true
	if err == nil && runID == ref.Run {
		l.began = sandbox.Survey{Files: files.Files, Truncated: files.Truncated, Deep: files.Deep}
		l.known = byPath(files.Files)
	}
	return nil
}

// changes is what a run has done to the files of its thread until now; nil when
// that is what is stored, or nobody can tell.
func (a *Activities) changes(ctx context.Context, ref step.Ref) *store.FileChanges {
	l := a.ledger(ref)
	l.mu.Lock()
	defer l.mu.Unlock()
	err := l.open(ctx, a, ref)
	if err != nil || l.known == nil {
		return nil
	}
	at := time.Now()
	now, ok := a.survey(ctx, ref, l.known)
	if !ok {
		return nil
	}
	c := changes.Between(&l.began, &now, a.textsBefore(ctx, ref.Thread), func(hash string) (string, bool) {
		text, ok := now.Texts[hash]
		return text, ok
	})
	data, err := json.Marshal(c)
	if err != nil || string(data) == l.told {
		return nil
	}
	return &store.FileChanges{Body: data, At: at}
}

// told notes that changes were stored.
func (a *Activities) told(ref step.Ref, c *store.FileChanges) {
	if c == nil {
		return
	}
	l := a.ledger(ref)
	l.mu.Lock()
	l.told = string(c.Body)
	l.mu.Unlock()
}

// textsBefore gives the texts of files as they were when the newest run began.
func (a *Activities) textsBefore(ctx context.Context, threadID string) changes.Texts {
	return func(hash string) (string, bool) {
		texts, err := a.o.Store.FileTexts(ctx, threadID, []string{hash})
		if err != nil {
			a.o.Logger.Warn("A file as it was could not be read", "thread", threadID, "error", err)
		}
		text, ok := texts[hash]
		return text, ok
	}
}

// changedInVain records what a call has done to files that was stopped: its result
// is the workflow's to write.
func (a *Activities) changedInVain(ctx context.Context, ref step.Ref) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), surveyTimeout+storeTimeout)
	defer cancel()
	c := a.changes(ctx, ref)
	if c == nil {
		return
	}
	err := a.o.Store.PutChanges(ctx, ref.Thread, ref.Run, *c)
	if err == nil {
		a.told(ref, c)
		return
	}
	if !errors.Is(err, store.ErrThreadGone) {
		a.o.Logger.Warn("What a stopped command did to files was not stored", "thread", ref.Thread, "error", err)
	}
}
