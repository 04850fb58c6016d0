package config

// Tool is one entry of tools[].
type Tool struct {
	// Name is the entry's name. The model sees the tool under its own name,
	// ToolName; the two should be the same.
	Name string `yaml:"name" conf:"required"`
	// Group is what agents choose tools by; "bash" alone has a meaning.
	Group string `yaml:"group,omitempty"`
	// Use is "<provider>:<tool>". DeerFlow's module:variable paths are accepted
	// and replaced where the tool is known.
	Use string `yaml:"use" conf:"required"`
	// Options are all other keys of the entry.
	Options ToolOptions `yaml:",inline"`
}

// ToolGroup is one entry of tool_groups[].
type ToolGroup struct {
	Name string `yaml:"name" conf:"required"` // as tools name it
}

// ToolOptions are the free settings of a tool. Text under a key that is named like
// a secret (api_key, token, ...) is held as a Secret, so that printing or
// encoding the options does not show it.
type ToolOptions map[string]any

// Secret returns the text under key, empty when there is none.
func (o ToolOptions) Secret(key string) Secret {
	switch value := o[key].(type) {
	case Secret:
		return value
	case string:
		return Secret(value)
	}
	return ""
}

// Text returns the text under key, empty when there is none or it is a secret.
func (o ToolOptions) Text(key string) string {
	text, _ := o[key].(string)
	return text
}

// Int returns the whole number under key and whether there is one. A number
// that came from a variable is text in the options and counts.
func (o ToolOptions) Int(key string) (n int, ok bool) {
	switch value := o[key].(type) {
	case int:
		return value, true
	case string:
		n, err := parseInt(value)
		return int(n), err == nil
	}
	return 0, false
}

// hideSecrets wraps the text under secret names, at any depth.
func hideSecrets(options map[string]any) {
	for key, value := range options {
		switch value := value.(type) {
		case string:
			if namesSecret(key) {
				options[key] = Secret(value)
			}
		case map[string]any:
			hideSecrets(value)
		}
	}
}
