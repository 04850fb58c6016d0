package config

import (
	"fmt"
	"io"
	"log/slog"
	"strings"
)

const redacted = "[redacted]"

// Secret is a value that must not be shown: printing it with any verb, logging
// it or encoding it as JSON or YAML gives "[redacted]". An empty Secret shows
// as empty, so that "not set" can be told apart.
type Secret string

// Reveal returns the value itself.
func (s Secret) Reveal() string { return string(s) }

// String returns "[redacted]", or "" when the secret is not set.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return redacted
}

// Format hides the value from every verb: without it %d or %#v would show it.
func (s Secret) Format(f fmt.State, verb rune) {
	text := s.String()
	if verb == 'q' || f.Flag('#') {
		text = `"` + text + `"`
	}
	_, _ = io.WriteString(f, text) // fmt.State never fails
}

// MarshalJSON encodes the redacted form.
func (s Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + s.String() + `"`), nil }

// MarshalText encodes the redacted form.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// MarshalYAML encodes the redacted form.
func (s Secret) MarshalYAML() (any, error) { return s.String(), nil }

// LogValue logs the redacted form.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

func (s *Secret) setText(text string) error {
	*s = Secret(text)
	return nil
}

// namesSecret reports whether a free key, such as an option of a tool, is named
// like something that must not be shown.
func namesSecret(key string) bool {
	key = strings.ToLower(key)
	for _, word := range []string{"key", "token", "secret", "password", "passwd", "credential", "authorization"} {
		if strings.Contains(key, word) {
			return true
		}
	}
	return false
}
