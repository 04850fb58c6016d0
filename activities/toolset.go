package activities

import (
	"fmt"

	"deerflow/config"
	"deerflow/internal/tools"
)

// everyTool is for a call: whether its run has the tool was settled by the plan.
var everyTool = tools.Conditions{PlanMode: true, Vision: true}

// toolset assembles the tools of a configuration for a run. Each warning is
// logged once.
func (a *Activities) toolset(cfg *config.Config, run tools.Conditions) (*tools.Set, error) {
	o := tools.Options{
		HostBash: cfg.Sandbox.AllowHostBash, BashTimeout: cfg.Sandbox.BashCommandTimeout, Run: run,
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
		a.warnOnce(w)
	}
	return set, nil
}

// warnOnce logs what is wrong with a tool, once in a process.
func (a *Activities) warnOnce(w tools.Warning) {
	if _, told := a.warned.LoadOrStore(w, true); !told {
		a.o.Logger.Warn("The tools are not all set up as they should be", "warning", string(w))
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
