package step

// Names of the activities. They stand in histories: never rename one.
const (
	LoadThread = "LoadThread" // local: read the head of a thread that starts or continues
	StartRun   = "StartRun"   // resolve the plan, take the run's messages into the transcript
	CallModel  = "CallModel"  // one model call, streamed into the event log
	CallTool   = "CallTool"   // one tool call
	Commit     = "Commit"     // local: at the end of a run and before a wait
	Summarize  = "Summarize"  // compact a part of the transcript
	MakeTitle  = "MakeTitle"  // ask a model for a title
	// ConvertDocument makes the text of an uploaded document.
	ConvertDocument = "ConvertDocument"
	// ResolvePlan makes the plan of work between runs.
	ResolvePlan = "ResolvePlan"
)

// TaskQueue is where workers look for the product's work.
const TaskQueue = "deerflow"

// Names of the workflows, and of the thread's updates and signals.
const (
	ThreadWorkflow     = "Thread"
	ConversionWorkflow = "Conversion"

	UpdateSubmitRun = "submit_run"
	UpdateCancelRun = "cancel_run"
	UpdateAnswer    = "answer"
	UpdateSetState  = "update_state"
	UpdateCompact   = "compact"
	SignalAnswer    = "answer"
	SignalCancelRun = "cancel_run"
	QueryStatus     = "status"
)

// Types of application errors that cross the border.
const (
	// ErrFenced: another attempt owns this step now.
	ErrFenced = "Fenced"
	// ErrOvertaken: the thread has gone on from another checkpoint than the
	// workflow knows, as after a reset by hand.
	ErrOvertaken = "Overtaken"
	// ErrModel: the provider refused for good; the details are a [ModelFailure].
	ErrModel = "ModelError"
	// ErrRateLimited: the provider asked for a longer pause than an activity
	// retry should hide; the details are a [ModelFailure] with RetryAfter.
	ErrRateLimited = "RateLimited"
	// ErrContextLength: the request does not fit into the model's window.
	ErrContextLength = "ContextLength"
	// ErrCircuitOpen: the model's provider is given a rest, so it was not called.
	ErrCircuitOpen = "CircuitBreakerOpen"
	// ErrThreadGone: the thread was deleted while a run was live.
	ErrThreadGone = "ThreadGone"
	// ErrStoreAway: the product's database does not answer, and nothing was done;
	// the workflow waits for it, visibly, and asks again.
	ErrStoreAway = "StoreAway"
	// ErrSandboxAway: the sandbox of a call cannot be had, and the call was not made.
	ErrSandboxAway = "SandboxAway"
	// ErrHostRestarted: the process that worked on the step is gone.
	ErrHostRestarted = "HostRestarted"
	// ErrRunRefused: a run cannot be started as it was asked for.
	ErrRunRefused = "RunRefused"
	// ErrRunGone: the run was taken back, or ended, before it started.
	ErrRunGone = "RunGone"
	// ErrBusy and ErrNotCancellable are refusals of updates.
	ErrBusy           = "Busy"
	ErrCrowded        = "Crowded"   // too much waits already; later there is room again
	ErrDuplicate      = "Duplicate" // it was asked for before, and is being done or done
	ErrNotCancellable = "NotCancellable"
	ErrUnknownRun     = "UnknownRun" // the thread has not taken such a run
	ErrNoQuestion     = "NoQuestion"
	ErrInvalid        = "Invalid"
	// ErrNewer: what the thread is doing was begun by a newer version of the
	// program and goes on when that is back.
	ErrNewer = "NewerVersion"
	// ErrNoSummary: no model could write one.
	ErrNoSummary = "NoSummary"
)
