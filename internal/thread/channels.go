package thread

// TodoStatus is how far an item of the plan is.
type TodoStatus string

// The states of an item.
const (
	TodoPending    TodoStatus = "pending"
	TodoInProgress TodoStatus = "in_progress"
	TodoCompleted  TodoStatus = "completed"
)

// Todo is an item of the plan of a run in plan mode.
type Todo struct {
	Content string     `json:"content"`
	Status  TodoStatus `json:"status"`
}

// UploadedFile is a file that came with the current message.
type UploadedFile struct {
	Filename string `json:"filename"`
	Size     int64  `json:"size"` // bytes
	Path     string `json:"path"` // virtual
	Status   string `json:"status,omitempty"`
}

// ViewedImage is an image that the model asked to see. Its bytes stay in the
// file.
type ViewedImage struct {
	MimeType string `json:"mime_type"`
	Size     int64  `json:"size"`        // bytes when it was looked at
	Path     string `json:"actual_path"` // virtual
}

// Promoted are the deferred tools that may be called, of one catalog.
type Promoted struct {
	CatalogHash string   `json:"catalog_hash"`
	Names       []string `json:"names"`
}

// DelegationStatus is the outcome of a sub-agent's task, or that it is at work.
type DelegationStatus string

// The states of a delegation.
const (
	DelegationInProgress DelegationStatus = "in_progress"
	DelegationCompleted  DelegationStatus = "completed"
	DelegationFailed     DelegationStatus = "failed"
	DelegationCancelled  DelegationStatus = "cancelled"
	DelegationTimedOut   DelegationStatus = "timed_out"
	DelegationMaxTurns   DelegationStatus = "max_turns"
)

// Delegation is an entry of the ledger of work that was given to sub-agents.
type Delegation struct {
	ID           string           `json:"id"` // of the task
	RunID        string           `json:"run_id,omitempty"`
	Description  string           `json:"description"` // at most 200 characters
	SubagentType string           `json:"subagent_type"`
	Status       DelegationStatus `json:"status"`
	StopReason   string           `json:"stop_reason,omitempty"`
	CreatedAt    string           `json:"created_at"`              // RFC 3339
	ResultBrief  string           `json:"result_brief,omitempty"`  // at most 120 characters: the whole stands in its row
	ResultSHA256 string           `json:"result_sha256,omitempty"` // of the whole result
	ResultRef    string           `json:"result_ref,omitempty"`    // id of the message that holds it
}

// SkillRef is a skill whose guide the model has read: compaction may take the
// text away, the reference stays.
type SkillRef struct {
	Name        string `json:"name"`
	Path        string `json:"path"`        // of its SKILL.md, virtual
	Description string `json:"description"` // at most 500 characters
	LoadedAt    string `json:"loaded_at"`   // RFC 3339
}

// SummaryRef names the row that holds the summary of what was compacted away. In
// an update one without an id says that there is none any more.
type SummaryRef struct {
	MessageID string `json:"message_id"`
	Tokens    int    `json:"tokens,omitempty"`
}
