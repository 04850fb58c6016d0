package testkit

import (
	"fmt"
	"strings"
)

// localSandbox lets commands run on this host, whatever walls it has.
const localSandbox = "  use: local\n  allow_host_bash: true\n"

// ConfigFor is a config.yaml whose one model, "kit", is m; shell commands are
// allowed, without a wall, and retries wait shortly. Further lines of YAML follow it.
func ConfigFor(m *Model, extra ...string) string {
	return fmt.Sprintf(`models:
  - name: kit
    use: openai
    model: kit-model
    api_key: kit-key
    base_url: %s
sandbox:
%sllm_call:
  retry_base_delay_ms: 50
  retry_cap_delay_ms: 200
%s`, m.URL(), localSandbox, strings.Join(extra, "\n"))
}

// WatchModes are the stream modes of a client that shows a run as it goes.
func WatchModes() []string { return []string{"messages-tuple", "values", "updates", "custom"} }

// SayWatched is [Say] with [WatchModes].
func SayWatched(text string) RunRequest {
	r := Say(text)
	r.StreamMode = WatchModes()
	return r
}
