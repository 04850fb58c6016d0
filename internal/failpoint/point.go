package failpoint

// Point is the name of a moment.
type Point string

// The moments, in the order in which a run comes to them.
const (
	// RunStored: the API has stored a run and its messages; the thread has not
	// been told.
	RunStored Point = "run-stored"
	// RunTaken: the thread has taken a run; the client has not been told.
	RunTaken Point = "run-taken"
	// RunStarted: the plan is fixed and the messages are in the transcript; the
	// workflow has not been told.
	RunStarted Point = "run-started"
	// ModelBegun: the step of a model call has begun and done nothing yet. From the
	// second turn of a run on, the commit of the turn before waits to be stored.
	ModelBegun Point = "model-begun"
	// CommitRode: the commit that came with a model call is stored and the message
	// claimed; the model has not been asked.
	CommitRode Point = "commit-rode"
	// AnswerStored: the row of an answer is written; the workflow has not been told.
	AnswerStored Point = "answer-stored"
	// ToolBegun: a tool call is claimed, if it is an unsafe one; the tool has not
	// been started.
	ToolBegun Point = "tool-begun"
	// ToolDone: the tool has done its work; its result is not stored.
	ToolDone Point = "tool-done"
	// ToolStored: the row of a tool's result is written; the workflow has not been
	// told.
	ToolStored Point = "tool-stored"
	// CommitBegun: a commit of its own has begun; nothing is written.
	CommitBegun Point = "commit-begun"
	// CommitStored: a commit of its own, at the end of a run or before a wait, is
	// written; who asked for it has not been told.
	CommitStored Point = "commit-stored"
	// Continuing: a workflow has decided to continue as new; Temporal has not been
	// told.
	Continuing Point = "continuing"
	// Continued: a workflow has continued as new and read what it needs of the store;
	// the new workflow run has not done anything else.
	Continued Point = "continued"
	// CancelTaken: the thread has taken a cancel, and the store knows of it; the
	// client has not been told.
	CancelTaken Point = "cancel-taken"
)
