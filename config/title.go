package config

// Title gives threads their titles.
type Title struct {
	Enabled bool `yaml:"enabled"` // true
	// MaxWords is how many words a model is asked for (6).
	MaxWords int `yaml:"max_words" conf:"min=1,max=20"`
	// MaxChars is the longest title, with the dots of a cut one (60).
	MaxChars int `yaml:"max_chars" conf:"min=10,max=200"`
	// ModelName is the model that makes titles; without one a title is the
	// beginning of the first message.
	ModelName string `yaml:"model_name,omitempty"`
	// PromptTemplate takes the place of our own instructions to that model:
	// {max_words}, {max_chars} and {user_msg} are filled in.
	PromptTemplate string `yaml:"prompt_template,omitempty"`
}

func (t *Title) setDefaults() { *t = Title{Enabled: true, MaxWords: 6, MaxChars: 60} }

func (d *decoder) checkTitle(t *Title, models []Model) {
	if t.ModelName == "" {
		return
	}
	for i := range models {
		if models[i].Name == t.ModelName {
			return
		}
	}
	d.warnf(d.line("title", "model_name"), "title.model_name: there is no model %s, so titles are made without one", d.given("title.model_name", t.ModelName))
}
