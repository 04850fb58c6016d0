package sandbox

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// minSecret is the length from which a value is taken for a secret. A shorter
// one would tear holes into ordinary text.
const minSecret = 8

// Text is the result as a model reads it: standard output, a block with standard
// error, then what went wrong. A command that said nothing gives "(no output)".
func (r ExecResult) Text() string {
	var parts []string
	if r.Stdout != "" {
		parts = append(parts, strings.TrimSuffix(r.Stdout, "\n"))
	}
	if r.Stderr != "" {
		parts = append(parts, "Std Error:\n"+strings.TrimSuffix(r.Stderr, "\n"))
	}
	switch {
	case r.TimedOut:
		parts = append(parts, fmt.Sprintf("Command timed out after %s and was stopped.", r.Timeout))
	case r.ExitCode != 0:
		parts = append(parts, fmt.Sprintf("Exit Code: %d", r.ExitCode))
	}
	if r.Notice != "" {
		parts = append(parts, r.Notice)
	}
	if len(parts) == 0 {
		return "(no output)"
	}
	return strings.Join(parts, "\n")
}

// outputCleaner makes the function that output passes on its way out: valid
// UTF-8, no paths of the host, no secrets that the command was given. Of two
// secrets that overlap the longer one goes first.
func outputCleaner(paths *mapping, env map[string]string) func(string) string {
	var secrets []string
	for _, value := range env {
		if len([]rune(value)) >= minSecret {
			secrets = append(secrets, value)
		}
	}
	slices.SortFunc(secrets, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(b), len(a)), strings.Compare(a, b))
	})
	return func(text string) string {
		text = strings.ToValidUTF8(text, "\uFFFD")
		for _, s := range secrets {
			text = strings.ReplaceAll(text, s, "[redacted]")
		}
		return paths.mask(text)
	}
}
