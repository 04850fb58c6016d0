package tools

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"deerflow/internal/agent"
	"deerflow/internal/tools/web"
)

// Entry is one tool of the configuration.
type Entry struct {
	Name  string
	Group string
	// Use says which tool it is, such as "sandbox:read_file".
	Use string
	// Extra are the options of the entry.
	Extra map[string]any
}

// Maker makes the tool of an entry whose Use it is registered for.
type Maker func(Entry) (Tool, error)

// Options say which tools a run has.
type Options struct {
	// Entries are the configured tools; the first of a name wins.
	Entries []Entry
	// Groups keeps only entries of these groups; nil keeps all, an empty list
	// none. Built-in tools are in no group.
	Groups []string
	// HostBash: commands may run. Without it every entry of the group "bash" and
	// every sandbox:bash is left out.
	HostBash bool
	// BashTimeout bounds one command; 0 means [sandbox.DefaultBashTimeout].
	BashTimeout time.Duration
	// Makers are further values of Use, by their name.
	Makers map[string]Maker
	// Web makes the requests of web tools; nil is one of its own.
	Web *web.Client
	// Getenv reads a variable of the environment, such as the key of a service; ""
	// means none, and nil has none at all.
	Getenv func(name string) string
	// Warn tells the operator what is wrong with an entry when its tool is called;
	// nil tells nobody.
	Warn func(text string)
}

// Warning is something about the configured tools that an operator should know.
type Warning string

// Set is the tools of a run, in order.
type Set struct {
	tools  []Tool
	byName map[string]Tool
}

// New makes the tools of a run: the configured ones, then the built-in ones. Of
// two with one name the first stays, so that a configured tool can take the
// place of a built-in one. An entry whose Use nobody knows is an error.
func New(o Options) (*Set, []Warning, error) {
	s := &Set{byName: map[string]Tool{}}
	var warnings []Warning
	warn := func(format string, args ...any) { warnings = append(warnings, Warning(fmt.Sprintf(format, args...))) }
	add := func(t Tool) {
		name := t.Spec().Name
		if s.byName[name] != nil {
			warn("tool %q is there already, the second one is left out", name)
			return
		}
		s.byName[name] = t
		s.tools = append(s.tools, t)
	}
	makers := catalog(o)
	var problems []error
	for _, e := range o.Entries {
		if o.Groups != nil && !slices.Contains(o.Groups, e.Group) {
			continue
		}
		if !o.HostBash && (e.Group == "bash" || canonicalUse(e.Use) == useBash) {
			warn("tool %q is left out: commands are not allowed on this host (sandbox.allow_host_bash)", e.Name)
			continue
		}
		t, err := makers.build(e)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		if own := t.Spec().Name; own != e.Name {
			warn("tool %q of the configuration calls itself %q; the model sees and calls %q", e.Name, own, own)
		}
		add(t)
	}
	for _, builtin := range []func() (Tool, error){presentFiles, askClarification, writeTodos, viewImage} {
		t, err := builtin()
		if err != nil {
			problems = append(problems, err)
			continue
		}
		add(t)
	}
	if err := errors.Join(problems...); err != nil {
		return nil, warnings, err
	}
	return s, warnings, nil
}

// Get finds a tool by the name that the model calls.
func (s *Set) Get(name string) (Tool, bool) {
	t, ok := s.byName[name]
	return t, ok
}

// Tools are the tools in order.
func (s *Set) Tools() []Tool { return slices.Clone(s.tools) }

// Specs are what the model sees, in order.
func (s *Set) Specs() []agent.ToolSpec {
	specs := make([]agent.ToolSpec, len(s.tools))
	for i, t := range s.tools {
		specs[i] = t.Spec()
	}
	return specs
}
