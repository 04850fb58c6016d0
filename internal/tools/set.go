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
	Warn func(Warning)
	// Run is what is known of the run that the tools are for.
	Run Conditions
	// Layers come after the built-in tools, in order.
	Layers []Layer
}

// Conditions of a run decide which built-in tools it has.
type Conditions struct {
	PlanMode bool // the model keeps a list of what is to be done: write_todos
	Vision   bool // the model sees images: view_image
	// Unattended: nobody is there to answer, so ask_clarification is left out
	// before the model sees it.
	Unattended bool
}

// Layer is where tools come from that are neither configured nor built in, such
// as the servers of the extensions file. They are in no group.
type Layer struct {
	Name  string // as a warning calls it
	Tools []Tool
	// Err: the layer could not be had. A run goes on without it.
	Err error
}

// Warning is something about the configured tools that an operator should know.
type Warning string

// Set is the tools of a run, in order.
type Set struct {
	tools  []Tool
	byName map[string]Tool
}

// New makes the tools of a run: the configured ones, the built-in ones, then
// those of the layers. Of two with one name the first stays, so that a configured
// tool can take the place of any other. An entry whose Use nobody knows is an
// error; a layer that could not be had is a warning.
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
	configured, problems := configured(o, warn)
	for _, t := range configured {
		add(t)
	}
	for _, build := range builtins(o.Run) {
		t, err := build()
		if err != nil {
			problems = append(problems, err)
			continue
		}
		add(t)
	}
	for _, l := range o.Layers {
		if l.Err != nil {
			warn("the tools of %s are left out: %v", l.Name, l.Err)
			continue
		}
		for _, t := range l.Tools {
			add(t)
		}
	}
	if err := errors.Join(problems...); err != nil {
		return nil, warnings, err
	}
	return s, warnings, nil
}

// configured makes the tools of the entries, as far as groups and the host let
// them be.
func configured(o Options, warn func(format string, args ...any)) ([]Tool, []error) {
	makers := catalog(o)
	var all []Tool
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
		all = append(all, t)
	}
	return all, problems
}

// builtins are the tools that a run has without any configuration, in order.
func builtins(run Conditions) []func() (Tool, error) {
	all := []struct {
		build func() (Tool, error)
		when  bool
	}{
		{presentFiles, true},
		{askClarification, !run.Unattended},
		{writeTodos, run.PlanMode},
		{viewImage, run.Vision},
	}
	var chosen []func() (Tool, error)
	for _, b := range all {
		if b.when {
			chosen = append(chosen, b.build)
		}
	}
	return chosen
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
