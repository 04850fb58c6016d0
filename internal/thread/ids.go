package thread

import (
	"encoding/binary"
	"fmt"
	"regexp"
	"strings"
	"time"
)

var validID = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// ValidID reports whether a thread id (or a user id) is safe to use in paths
// and URLs: 1 to 64 letters, digits, underscores and hyphens.
func ValidID(id string) bool { return validID.MatchString(id) }

// WorkflowID is the id of the workflow that is the thread.
func WorkflowID(threadID string) string { return "thread/" + threadID }

// MessageID names the message that a step of a run makes. It comes from the
// workflow, so every attempt of the step writes the same row.
func MessageID(runID string, step int) string { return fmt.Sprintf("%s-%d", runID, step) }

// ClarificationID names the tool message that holds a question: stable, so a
// repeat replaces the card.
func ClarificationID(toolCallID string) string { return "clarification:" + toolCallID }

// CheckpointID is a UUID of version 7 that sorts by creation: 48 bits of
// milliseconds, then the whole counter, so that ids made in the same
// millisecond keep their order, then 42 bits of the salt.
func CheckpointID(at time.Time, counter uint32, salt uint64) string {
	const version, variant = 0x7000, 0b10 << 62
	ms := uint64(max(at.UnixMilli(), 0))
	high, low := uint64(counter>>20), uint64(counter&0xfffff)
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], ms<<16|version|high)
	binary.BigEndian.PutUint64(b[8:], variant|low<<42|salt>>22)
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// UpdatePrefix begins the ids of updates of the state, which stand where
// checkpoints and messages otherwise name their run.
const UpdatePrefix = "update-"

// IsUpdate reports whether what a checkpoint or a message names as its run is an
// update of the state.
func IsUpdate(run string) bool { return strings.HasPrefix(run, UpdatePrefix) }
