package config

// ReadBeforeWrite lets tools change a file that exists only as the model has last
// read it.
type ReadBeforeWrite struct {
	Enabled bool `yaml:"enabled"` // true
}

func (r *ReadBeforeWrite) setDefaults() { *r = ReadBeforeWrite{Enabled: true} }
