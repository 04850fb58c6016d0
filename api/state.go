package api

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"deerflow/internal/store"
	"deerflow/internal/thread"
)

// stateShape is a state as of a checkpoint: the union of what LangGraph
// Platform and DeerFlow answer.
type stateShape struct {
	flatState
	Checkpoint       *checkpointRef `json:"checkpoint"`
	ParentCheckpoint *checkpointRef `json:"parent_checkpoint"`
}

// flatState is a state that names its checkpoint by id only.
type flatState struct {
	Values             channels       `json:"values"`
	Next               []string       `json:"next"`
	Tasks              []taskShape    `json:"tasks"`
	Metadata           map[string]any `json:"metadata"`
	CreatedAt          string         `json:"created_at"`
	CheckpointID       *string        `json:"checkpoint_id"`
	ParentCheckpointID *string        `json:"parent_checkpoint_id"`
}

type checkpointRef struct {
	ThreadID      string    `json:"thread_id"`
	CheckpointNS  string    `json:"checkpoint_ns"`
	CheckpointID  *string   `json:"checkpoint_id"`
	CheckpointMap *struct{} `json:"checkpoint_map"`
	ID            *string   `json:"id"`
	TS            string    `json:"ts,omitempty"`
}

type taskShape struct {
	ID         string             `json:"id"`
	Name       string             `json:"name"`
	Error      *string            `json:"error"`
	Interrupts []thread.Interrupt `json:"interrupts"`
	Path       []any              `json:"path"`
	Checkpoint *struct{}          `json:"checkpoint"`
	State      *struct{}          `json:"state"`
	Result     *struct{}          `json:"result"`
}

// freshState is the state of a thread that has no checkpoint yet.
func freshState(t *store.Thread, values channels) stateShape {
	at := stamp(t.CreatedAt)
	return stateShape{
		flatState: flatState{
			Values: values, Next: []string{}, Tasks: []taskShape{}, CreatedAt: at,
			Metadata: map[string]any{"step": -1},
		},
		Checkpoint: &checkpointRef{ThreadID: t.ID, TS: at},
	}
}

// stateAt is the state as of a checkpoint.
func stateAt(cp *store.Checkpoint, values channels) stateShape {
	at := stamp(cp.At)
	shape := stateShape{
		flatState: flatState{
			Values: values, Next: nextOf(cp), Tasks: tasksOf(cp), CreatedAt: at, CheckpointID: &cp.ID,
			Metadata: checkpointMetadata(cp),
		},
		Checkpoint: &checkpointRef{ThreadID: cp.ThreadID, CheckpointID: &cp.ID, ID: &cp.ID, TS: at},
	}
	if cp.Parent != "" {
		shape.ParentCheckpointID = &cp.Parent
		shape.ParentCheckpoint = &checkpointRef{ThreadID: cp.ThreadID, CheckpointID: &cp.Parent, ID: &cp.Parent}
	}
	return shape
}

// checkpointMetadata says where a checkpoint comes from: a step of a run, or a
// client that updated the state.
func checkpointMetadata(cp *store.Checkpoint) map[string]any {
	metadata := map[string]any{
		"source": "loop", "step": cp.Step, "parents": map[string]any{}, "run_id": cp.RunID, "thread_id": cp.ThreadID,
	}
	if thread.IsUpdate(cp.RunID) {
		metadata["source"] = "update"
		delete(metadata, "run_id")
	}
	return metadata
}

// nextOf are the nodes that are due, never nil: clients tell a finished thread
// by an empty list.
func nextOf(cp *store.Checkpoint) []string {
	if cp.Next == nil {
		return []string{}
	}
	return cp.Next
}

// tasksOf are the nodes that are due, with the questions in the last one.
func tasksOf(cp *store.Checkpoint) []taskShape {
	tasks := []taskShape{}
	for _, name := range cp.Next {
		tasks = append(tasks, newTask(taskID(cp.ID+"/"+name), name))
	}
	if len(cp.Interrupts) == 0 {
		return tasks
	}
	if len(tasks) == 0 {
		tasks = append(tasks, newTask("", nodeTools))
	}
	last := &tasks[len(tasks)-1]
	last.ID, last.Interrupts = taskID(cp.ID), cp.Interrupts
	return tasks
}

func newTask(id, name string) taskShape {
	return taskShape{ID: id, Name: name, Interrupts: []thread.Interrupt{}, Path: []any{}}
}

func (s *Server) getState(c echo.Context) error {
	view, err := s.ownView(c)
	if err != nil {
		return err
	}
	shape, err := headState(&view)
	if err != nil {
		return err
	}
	shown, err := selectKeys(shape, selection(c))
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, shown)
}

// headState is the state of a thread now: its newest checkpoint, what has come
// since, and what the thread waits for.
func headState(view *store.View) (stateShape, error) {
	values, err := valuesOf(view)
	if err != nil {
		return stateShape{}, err
	}
	if view.Checkpoint == nil {
		return freshState(&view.Thread, values), nil
	}
	cp := *view.Checkpoint
	cp.Interrupts = view.Thread.Interrupts // less those that are answered since
	shape := stateAt(&cp, values)
	if text := view.Thread.Error; view.Thread.Status == thread.StatusError && text != "" && !endsWithFallback(view.Rows) {
		if len(shape.Tasks) == 0 {
			shape.Tasks = []taskShape{newTask(taskID(cp.ID), nodeModel)}
		}
		shape.Tasks[len(shape.Tasks)-1].Error = &text
	}
	return shape, nil
}

// endsWithFallback reports whether the last message already tells the user that
// the model failed: then it is no error of the graph.
func endsWithFallback(rows []store.Row) bool {
	return len(rows) > 0 && isFallback(&rows[len(rows)-1].Message)
}

func isFallback(m *thread.Message) bool {
	fallback, _ := m.AdditionalKwargs[thread.KeyErrorFallback].(bool)
	return fallback
}

// selection is the select parameter of a query: repeated, or a JSON list.
func selection(c echo.Context) []string { return queryList(c, "select") }

// queryList reads a parameter that one SDK repeats and another sends as a JSON
// list.
func queryList(c echo.Context, name string) []string {
	var list []string
	for _, value := range c.QueryParams()[name] {
		var inner []string
		if strings.HasPrefix(value, "[") && json.Unmarshal([]byte(value), &inner) == nil {
			list = append(list, inner...)
			continue
		}
		if value != "" {
			list = append(list, value)
		}
	}
	return list
}
