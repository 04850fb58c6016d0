package doctor

import (
	"context"
	"fmt"
	"time"

	"deerflow/config"
	"deerflow/internal/model"
	"deerflow/internal/thread"
)

// pingTimeout bounds one request to a model.
const pingTimeout = 30 * time.Second

// models asks each configured model for one token.
func (e *exam) models(ctx context.Context) []Check {
	if !e.o.Model {
		return []Check{{Name: "models", Status: Skip, Detail: "not asked; --model asks each one for one token"}}
	}
	if e.config == nil {
		return []Check{{Name: "models", Status: Skip, Detail: "the configuration cannot be read"}}
	}
	checks := make([]Check, 0, len(e.config.Models))
	for i := range e.config.Models {
		checks = append(checks, e.ping(ctx, &e.config.Models[i]))
	}
	return checks
}

func (e *exam) ping(ctx context.Context, m *config.Model) Check {
	c := Check{Name: "model " + m.Name, Status: OK}
	if m.Use == config.UseDemo {
		c.Detail = "built in: offline and scripted"
		return c
	}
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	began := time.Now()
	err := pingModel(ctx, m)
	if err != nil {
		c.Status, c.Detail, c.Fix = Fail, err.Error(), "see models[] in the configuration: base_url, model, api_key"
		return c
	}
	c.Detail = fmt.Sprintf("%s answers after %.1fs", m.Model, time.Since(began).Seconds())
	return c
}

// pingModel is nil when the model has answered. An answer of one token may be cut off, or all thought.
func pingModel(ctx context.Context, m *config.Model) error {
	headers := make(map[string]string, len(m.Provider.ExtraHeaders)+1)
	if m.Organization != "" {
		headers["OpenAI-Organization"] = m.Organization
	}
	for name, value := range m.Provider.ExtraHeaders {
		headers[name] = value.Reveal()
	}
	client, err := model.New(model.Config{
		Name: m.Name, Model: m.Model, BaseURL: m.BaseURL, MaxTokens: 1, Timeout: pingTimeout, Extra: m.Extra,
		Flags: model.Flags{
			StreamOptions: &m.Provider.StreamOptions, Streaming: &m.Provider.Streaming, MaxTokensField: m.Provider.MaxTokensField,
		},
	}, model.Options{APIKey: m.APIKey.Reveal(), Headers: headers})
	if err != nil {
		return err
	}
	answered := false
	_, err = client.Chat(ctx, model.Request{Messages: []thread.Message{thread.Human("ping", "Say ok.")}}, func(model.Delta) error {
		answered = true
		return nil
	})
	if answered {
		return nil
	}
	return err
}
