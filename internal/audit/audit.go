package audit

import (
	"strings"
	"unicode/utf8"
)

// MaxCommand is the longest command that may run, in characters.
const MaxCommand = 10_000

// Level is how a command is judged.
type Level int

// The levels, from harmless to harmful.
const (
	Pass  Level = iota // runs
	Warn               // runs, and the model is told what to mind
	Block              // does not run
)

// String is the level in the words of the log.
func (l Level) String() string {
	switch l {
	case Block:
		return "block"
	case Warn:
		return "warn"
	case Pass:
	}
	return "pass"
}

// Verdict is what the audit of a command found. Reason is a short phrase, empty
// for one that passes.
type Verdict struct {
	Level  Level
	Reason string
}

// Command judges a shell command.
func Command(command string) Verdict {
	switch {
	case strings.TrimSpace(command) == "":
		return Verdict{Block, "empty command"}
	case utf8.RuneCountInString(command) > MaxCommand:
		return Verdict{Block, "command too long"}
	case strings.ContainsRune(command, 0):
		return Verdict{Block, "null byte detected"}
	}
	command = strings.NewReplacer("\r\n", "\n", "\\\n", " ").Replace(command)
	if reason := parse(command).dangerous(); reason != "" {
		return Verdict{Block, reason}
	}
	if reason := first(mediumRules, collapse(command)); reason != "" {
		return Verdict{Warn, reason}
	}
	return Verdict{}
}

// Shown is a command as the log has it: one that is too long to run is cut.
func Shown(command string) (shown string, cut bool) {
	const kept = 200
	if utf8.RuneCountInString(command) <= MaxCommand {
		return command, false
	}
	return string([]rune(command)[:kept]), true
}

// collapse makes every run of white space one blank.
func collapse(s string) string { return strings.Join(strings.Fields(s), " ") }
