package activities

import (
	"encoding/json"
	"fmt"

	"golang.org/x/sync/semaphore"

	"deerflow/config"
	"deerflow/internal/agent"
	"deerflow/internal/model"
)

// storedModel is the part of a plan that says which model answers and how. It
// holds no secret: keys are read from the configuration in force.
type storedModel struct {
	Use    string       `json:"use"`
	Config model.Config `json:"config"`
}

// modelOf turns a configured model into what a plan stores.
func modelOf(m config.Model) storedModel {
	p := m.Provider
	return storedModel{Use: m.Use, Config: model.Config{
		Name: m.Name, Model: m.Model, BaseURL: m.BaseURL,
		Temperature: m.Temperature, TopP: m.TopP, MaxTokens: m.MaxTokens, ContextWindow: m.ContextWindow,
		Timeout: m.Timeout, ChunkTimeout: m.StreamChunkTimeout,
		Thinking: m.SupportsThinking, Effort: m.SupportsReasoningEffort,
		WhenThinkingEnabled: m.ThinkingBody(true), WhenThinkingDisabled: m.ThinkingBody(false), Extra: m.Extra,
		Flags: model.Flags{
			ReasoningContent: p.ReasoningContent, ToolOnlyContent: p.ToolOnlyContent,
			StreamOptions: &p.StreamOptions, Streaming: &p.Streaming,
			ParallelToolCalls: p.ParallelToolCalls, MaxTokensField: p.MaxTokensField,
		},
	}}
}

// chatter gives the client of a plan's model. Clients are shared by all runs
// with the same configuration, since they remember what their endpoint refused.
func (a *Activities) chatter(plan *agent.Plan) (model.Chatter, error) {
	var m storedModel
	if err := json.Unmarshal(plan.Model, &m); err != nil {
		return nil, fmt.Errorf("read model %q of the plan: %w", plan.Summary.Model, err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	access, err := a.accessTo(plan, &m)
	if err != nil {
		return nil, err
	}
	key := string(plan.Model) + "\x00" + access.APIKey.Reveal()
	if c, ok := a.chatters[key]; ok {
		return c, nil
	}
	c, err := a.newChatter(m, access)
	if err != nil {
		return nil, fmt.Errorf("model %q: %w", plan.Summary.Model, err)
	}
	if !a.bounded {
		a.bounded = true
		if n := a.o.Config().LLMCall.MaxConcurrentCalls; n > 0 {
			a.places = semaphore.NewWeighted(int64(n))
		}
	}
	if a.places != nil {
		c = limited{c, a.places}
	}
	a.chatters[key] = c
	return c, nil
}

// namedChatter gives the client of a configured model by its name, for calls on
// the side.
func (a *Activities) namedChatter(name string) (model.Chatter, error) {
	m, known := a.o.Config().Model(name)
	if !known {
		return nil, fmt.Errorf("model %q is not in the configuration", name)
	}
	data, err := json.Marshal(modelOf(m))
	if err != nil {
		return nil, fmt.Errorf("encode model %q: %w", name, err)
	}
	return a.chatter(&agent.Plan{Model: data, Summary: agent.Summary{Model: name}})
}

// providerOf names the endpoint of a plan's model; the demo has none.
func providerOf(plan *agent.Plan) string {
	var m storedModel
	if json.Unmarshal(plan.Model, &m) != nil || m.Use == config.UseDemo {
		return "" // what cannot be read is reported where the client is made
	}
	return m.Use + " " + m.Config.BaseURL
}

// accessTo gives the entry of the configuration that has the key for a plan's
// model. An edit that takes the model away, or leads its name elsewhere, is for
// runs that start afterwards: one that is at work goes on with the key it had.
// No key goes to another host than the one it was configured for.
func (a *Activities) accessTo(plan *agent.Plan, m *storedModel) (config.Model, error) {
	if current, ok := m.entry(a.o.Config()); ok {
		a.access[string(plan.Model)] = current
		return current, nil
	}
	if before, ok := a.access[string(plan.Model)]; ok {
		return before, nil
	}
	return config.Model{}, fmt.Errorf("model %q is not in the configuration any more, or is somewhere else: put it back, or start a new run", plan.Summary.Model)
}

// entry is the model as the configuration has it, at the same endpoint.
func (m *storedModel) entry(cfg *config.Config) (config.Model, bool) {
	current, known := cfg.Model(m.Config.Name)
	return current, known && current.Use == m.Use && current.BaseURL == m.Config.BaseURL
}

func (a *Activities) newChatter(m storedModel, current config.Model) (model.Chatter, error) {
	if m.Use == config.UseDemo {
		return model.NewDemo(model.Options{Delay: a.o.DemoDelay}), nil
	}
	headers := make(map[string]string, len(current.Provider.ExtraHeaders)+1)
	if current.Organization != "" {
		headers["OpenAI-Organization"] = current.Organization
	}
	for name, value := range current.Provider.ExtraHeaders {
		headers[name] = value.Reveal()
	}
	return model.New(m.Config, model.Options{
		APIKey: current.APIKey.Reveal(), Headers: headers, Transport: a.o.Transport, Logger: a.o.Logger,
	})
}
