package config

import "strings"

// class is what is known of a model class of DeerFlow or LangChain.
type class struct {
	baseURL     string // endpoint when the entry names none
	needsURL    bool   // has no endpoint of its own
	noStreaming bool   // the server cannot stream tool calls
}

// openAIClasses are the class paths that speak the OpenAI dialect.
func openAIClasses() map[string]class {
	const deepSeek = "https://api.deepseek.com/v1"
	return map[string]class{
		"langchain_openai:ChatOpenAI":                          {},
		"deerflow.models.patched_openai:PatchedChatOpenAI":     {},
		"langchain_deepseek:ChatDeepSeek":                      {baseURL: deepSeek},
		"deerflow.models.patched_deepseek:PatchedChatDeepSeek": {baseURL: deepSeek},
		"deerflow.models.patched_minimax:PatchedChatMiniMax":   {needsURL: true},
		"deerflow.models.patched_mimo:PatchedChatMiMo":         {needsURL: true},
		"deerflow.models.patched_stepfun:PatchedChatStepFun":   {needsURL: true},
		"deerflow.models.vllm_provider:VllmChatModel":          {needsURL: true},
		"deerflow.models.mindie_provider:MindIEChatModel":      {needsURL: true, noStreaming: true},
	}
}

// foreignClasses speak another dialect; each has an endpoint that speaks ours.
func foreignClasses() map[string]string {
	return map[string]string{
		"ChatAnthropic":          "https://api.anthropic.com/v1",
		"ClaudeChatModel":        "https://api.anthropic.com/v1",
		"ChatGoogleGenerativeAI": "https://generativelanguage.googleapis.com/v1beta/openai",
		"ChatOllama":             "http://localhost:11434/v1",
	}
}

// finishUse replaces m.Use by its short name and applies what its class implies.
func (d *decoder) finishUse(m *Model, path string) {
	if m.Use == "" || m.Use == UseOpenAI || m.Use == UseDemo {
		return // missing: already reported
	}
	use := modernPath(m.Use)
	if c, ok := openAIClasses()[use]; ok {
		m.Use = UseOpenAI
		if m.BaseURL == "" {
			m.BaseURL = c.baseURL
		}
		if m.BaseURL == "" && c.needsURL {
			d.errorf(d.line(path, "use"), "%s: base_url is missing: %s has no endpoint of its own", path, use)
		}
		if c.noStreaming && d.lines[path+".provider.streaming"] == 0 {
			m.Provider.Streaming = false
		}
		return
	}
	hint := didYouMean(m.Use, []string{UseOpenAI, UseDemo, "langchain_openai:ChatOpenAI"})
	if _, name, ok := strings.Cut(use, ":"); ok && foreignClasses()[name] != "" {
		hint = "; reach this provider with use: openai and base_url: " + foreignClasses()[name]
	}
	d.errorf(d.line(path, "use"), "%s.use: unknown provider %s; this version has: openai (any OpenAI-compatible endpoint), demo%s",
		path, d.given(path+".use", m.Use), hint)
}

// modernPath gives the class paths of DeerFlow's first layout their later form.
func modernPath(use string) string {
	if rest, ok := strings.CutPrefix(use, "src."); ok {
		return "deerflow." + rest
	}
	return use
}
