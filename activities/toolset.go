package activities

import (
	"fmt"

	"deerflow/config"
	"deerflow/internal/tools"
)

// toolset assembles the tools of a configuration: the configured ones that this
// version has, then the built-in ones.
func (a *Activities) toolset(cfg *config.Config) (*tools.Set, error) {
	o := tools.Options{
		HostBash: cfg.Sandbox.AllowHostBash, BashTimeout: cfg.Sandbox.BashCommandTimeout,
		Web: a.o.Web, Warn: a.warnOnce,
		Getenv: func(name string) string {
			value, _ := cfg.Getenv(name)
			return value
		},
	}
	for _, t := range cfg.Tools {
		if t.Available() {
			o.Entries = append(o.Entries, tools.Entry{Name: t.Name, Group: t.Group, Use: t.Use, Extra: t.Options})
		}
	}
	set, warnings, err := tools.New(o)
	if err != nil {
		return nil, fmt.Errorf("assemble the tools: %w", err)
	}
	for _, w := range warnings {
		a.o.Logger.Debug("Assembling the tools", "warning", string(w))
	}
	return set, nil
}

// warnOnce tells the operator something about a tool, once in a process.
func (a *Activities) warnOnce(text string) {
	if _, told := a.warned.LoadOrStore(text, true); !told {
		a.o.Logger.Warn("A tool is not set up as it should be", "tool", text)
	}
}

// limits bound what the tools of a configuration take and give.
func limits(cfg *config.Config) tools.Limits {
	bound := func(n int) int {
		if n == 0 {
			return -1 // 0 in the configuration switches a limit off
		}
		return n
	}
	l := tools.Limits{
		BashChars: bound(cfg.Sandbox.BashOutputMaxChars), ReadChars: bound(cfg.Sandbox.ReadFileOutputMaxChars),
		ListChars: bound(cfg.Sandbox.LsOutputMaxChars),
	}
	return l.WithEnv(func(name string) string {
		value, _ := cfg.Getenv(name)
		return value
	})
}
