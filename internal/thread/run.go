package thread

import "encoding/json"

// RunStatus is the state of one API submission, in LangGraph's words.
type RunStatus string

// A run goes from pending over running to one of the others.
const (
	RunPending     RunStatus = "pending"
	RunRunning     RunStatus = "running"
	RunSuccess     RunStatus = "success"
	RunError       RunStatus = "error"
	RunTimeout     RunStatus = "timeout"
	RunInterrupted RunStatus = "interrupted"
)

// Terminal reports whether a run in this status will not change any more.
func (s RunStatus) Terminal() bool { return s != RunPending && s != RunRunning }

// Status is the state of a thread, in LangGraph's words.
type Status string

// The states of a thread.
const (
	StatusIdle        Status = "idle"
	StatusBusy        Status = "busy"
	StatusInterrupted Status = "interrupted"
	StatusError       Status = "error"
)

// Multitask says what to do with a submission while another run is active.
type Multitask string

// The four strategies of the LangGraph API.
const (
	MultitaskReject    Multitask = "reject"
	MultitaskInterrupt Multitask = "interrupt"
	MultitaskRollback  Multitask = "rollback"
	MultitaskEnqueue   Multitask = "enqueue"
)

// CancelAction says what a cancel leaves behind: the work so far, or the state
// from before the run.
type CancelAction string

// The two ways to cancel a run.
const (
	CancelInterrupt CancelAction = "interrupt"
	CancelRollback  CancelAction = "rollback"
)

// Why a run ended before the model was done; empty otherwise.
const (
	StopLoopCapped  = "loop_capped"
	StopTurnCapped  = "turn_capped"
	StopModelLength = "model_length_capped"
	StopCancelled   = "cancelled"
	StopTokenCapped = "token_capped"
	StopSafety      = "safety_capped"
	StopSubagents   = "subagent_limit_capped"
)

// RunOptions are what a caller may choose for a run; the rest comes from the
// config. Zero values mean "not chosen".
type RunOptions struct {
	AgentName            string          `json:"agent_name,omitempty"`
	Model                string          `json:"model_name,omitempty"`
	ThinkingEnabled      *bool           `json:"thinking_enabled,omitempty"`
	ReasoningEffort      string          `json:"reasoning_effort,omitempty"`
	DisableClarification bool            `json:"disable_clarification,omitempty"`
	RecursionLimit       int             `json:"recursion_limit,omitempty"`
	PlanMode             bool            `json:"is_plan_mode,omitempty"`
	Subagents            bool            `json:"subagent_enabled,omitempty"`
	MaxSubagents         int             `json:"max_concurrent_subagents,omitempty"`
	MaxSubagentsTotal    int             `json:"max_total_subagents,omitempty"`
	NonInteractive       bool            `json:"non_interactive,omitempty"`
	TimeZone             string          `json:"timezone,omitempty"` // IANA name; empty is the server's
	Extra                json.RawMessage `json:"extra,omitempty"`    // context keys of later parts, kept as sent
}

// End is the outcome of a run.
type End struct {
	RunID      string    `json:"run_id"`
	Status     RunStatus `json:"status"`
	StopReason string    `json:"stop_reason,omitempty"`
	Error      string    `json:"error,omitempty"`
	Usage      Usage     `json:"usage"`
	ModelCalls int       `json:"model_calls,omitempty"`
}
