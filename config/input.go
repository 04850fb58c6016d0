package config

// Input bounds what a user says.
type Input struct {
	// MaxInputLength cuts a longer message in what the model reads, with a note;
	// in characters, 0 is no limit (0).
	MaxInputLength int `yaml:"max_input_length" conf:"min=0"`
}
