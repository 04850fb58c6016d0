package tools

import (
	"encoding/json"
	"errors"
	"flag"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"deerflow/internal/agent"
)

var update = flag.Bool("update", false, "write the golden files anew")

func names(s *Set) []string {
	var out []string
	for _, t := range s.Tools() {
		out = append(out, t.Spec().Name)
	}
	return out
}

// Spec 10.1: which tools a run has.
func TestNew(t *testing.T) {
	t.Parallel()
	builtin := []string{"present_files", "ask_clarification", "write_todos", "view_image"}
	web := Entry{Name: "web_search", Group: "web", Use: "fake:web_search"}
	shell := Entry{Name: "bash", Group: "bash", Use: "deerflow.sandbox.tools:bash_tool"}
	makers := map[string]Maker{
		"fake:web_search": func(Entry) (Tool, error) {
			return definition[lsParams]{name: "web_search", run: runLs}.build()
		},
		"fake:present_files": func(Entry) (Tool, error) {
			return definition[lsParams]{name: "present_files", description: "own", run: runLs}.build()
		},
		"fake:broken": func(Entry) (Tool, error) { return nil, errors.New("install the package x") },
	}
	for name, c := range map[string]struct {
		o        Options
		want     []string
		warnings int
		err      string
	}{
		"no groups":         {Options{Entries: []Entry{web}, Groups: []string{}}, builtin, 0, ""},                                                                // 10.1-1
		"one group":         {Options{Entries: []Entry{web, shell}, Groups: []string{"web"}, HostBash: true}, append([]string{"web_search"}, builtin...), 0, ""}, // 10.1-2
		"no host bash":      {Options{Entries: []Entry{shell, web}}, append([]string{"web_search"}, builtin...), 1, ""},                                          // 10.1-3
		"host bash":         {Options{Entries: []Entry{shell, web}, HostBash: true}, append([]string{"bash", "web_search"}, builtin...), 0, ""},                  // 10.1-3
		"bash by use":       {Options{Entries: []Entry{{Name: "sh", Group: "tools", Use: "sandbox:bash"}}}, builtin, 1, ""},                                      // 10.1-4
		"bash by group":     {Options{Entries: []Entry{{Name: "x", Group: "bash", Use: "sandbox:ls"}}}, builtin, 1, ""},                                          // 1.2-3
		"other name":        {Options{Entries: []Entry{{Name: "search", Use: "fake:web_search"}}}, append([]string{"web_search"}, builtin...), 1, ""},            // 10.1-6
		"own present_files": {Options{Entries: []Entry{{Name: "present_files", Use: "fake:present_files"}}}, builtin, 1, ""},                                     // 10.1-7
		"twice":             {Options{Entries: []Entry{web, web}}, append([]string{"web_search"}, builtin...), 1, ""},                                            // 1.2-8
		"nothing":           {Options{}, builtin, 0, ""},                                                                                                         // 10.1-14
		"broken":            {Options{Entries: []Entry{{Name: "b", Use: "fake:broken"}}}, nil, 0, `tool "b" (fake:broken): install the package x`},               // 10.1-11
		"unknown":           {Options{Entries: []Entry{{Name: "x", Use: "sandbox:nope"}}}, nil, 0, `tool "x": unknown use "sandbox:nope"; known are `},           // names what there is
		"bad option":        {Options{Entries: []Entry{{Name: "glob", Use: "sandbox:glob", Extra: map[string]any{"max_results": "many"}}}}, nil, 0, "max_results"},
	} {
		c.o.Makers, c.o.Run = makers, everyRun()
		set, warnings, err := New(c.o)
		require.Len(t, warnings, c.warnings, name)
		if c.err != "" {
			require.ErrorContains(t, err, c.err, name)
			continue
		}
		require.NoError(t, err, name)
		require.Equal(t, c.want, names(set), name)
		for _, tool := range c.want {
			_, ok := set.Get(tool)
			require.True(t, ok, tool)
		}
		_, ok := set.Get("nope")
		require.False(t, ok)
	}
	set, _, err := New(Options{Entries: []Entry{{Name: "present_files", Use: "fake:present_files"}}, Makers: makers})
	require.NoError(t, err)
	require.Equal(t, "own", set.Specs()[0].Description)
	require.Len(t, set.Specs(), 2, "a single schema of it")
}

// Spec 10.1-10, 10.1-13: built-in tools that are not for every run.
func TestConditions(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		run  Conditions
		want []string
	}{
		"plain":      {Conditions{}, []string{"present_files", "ask_clarification"}},
		"plan mode":  {Conditions{PlanMode: true}, []string{"present_files", "ask_clarification", "write_todos"}},
		"vision":     {Conditions{Vision: true}, []string{"present_files", "ask_clarification", "view_image"}},
		"unattended": {Conditions{Unattended: true}, []string{"present_files"}},
	} {
		set, warnings, err := New(Options{Run: c.run})
		require.NoError(t, err)
		require.Empty(t, warnings)
		require.Equal(t, c.want, names(set), name)
	}
}

// Spec 1.2-8, 10.1-8, 10.1-9: configured before built in before the layers, and
// a layer that cannot be had costs nothing but its own tools.
func TestLayers(t *testing.T) {
	t.Parallel()
	named := func(name string) Tool {
		tool, err := definition[lsParams]{name: name, description: "of a layer", run: runLs}.build()
		require.NoError(t, err)
		return tool
	}
	set, warnings, err := New(Options{
		Entries: []Entry{{Name: "read_file", Group: "file", Use: "sandbox:read_file"}},
		Groups:  []string{"file"},
		Layers: []Layer{
			{Name: "MCP servers", Tools: []Tool{named("read_file"), named("present_files"), named("search_mail")}},
			{Name: "the broken one", Err: errors.New("extensions_config.json: line 3: no such thing")},
			{Name: "ACP agents", Tools: []Tool{named("search_mail"), named("invoke_acp_agent")}},
		},
	})
	require.NoError(t, err)
	require.Equal(t, []string{"read_file", "present_files", "ask_clarification", "search_mail", "invoke_acp_agent"}, names(set), "groups are for configured tools")
	require.Equal(t, []Warning{
		`tool "read_file" is there already, the second one is left out`,
		`tool "present_files" is there already, the second one is left out`,
		"the tools of the broken one are left out: extensions_config.json: line 3: no such thing",
		`tool "search_mail" is there already, the second one is left out`,
	}, warnings)
	require.NotEqual(t, "of a layer", set.Specs()[0].Description)
	require.NotEqual(t, "of a layer", set.Specs()[1].Description)
}

func everyRun() Conditions { return Conditions{PlanMode: true, Vision: true} }

// The options of an entry bound what its tool gives.
func TestConfiguredLimits(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	for _, limit := range []any{2, int64(2), 2.0, "2"} {
		set, _, err := New(Options{Entries: []Entry{
			{Name: "glob", Use: "sandbox:glob", Extra: map[string]any{"max_results": limit}},
			{Name: "grep", Use: "src.sandbox.tools:grep_tool", Extra: map[string]any{"max_results": limit}},
		}})
		require.NoError(t, err)
		k.set = set
		k.write("a", "x\nx\nx\n")
		k.write("b", "")
		k.write("c", "")
		require.Contains(t, k.ok("glob", a{"pattern": "*", "path": ws, "max_results": 50}), "showing first 2")
		require.Contains(t, k.ok("grep", a{"pattern": "x", "path": ws, "max_results": 50}), "showing first 2")
	}
}

// What the model and the loop see of every tool. The golden file pins it, since
// providers are particular about schemas (V4, V11) and prompts are cached.
func TestSpecs(t *testing.T) {
	t.Parallel()
	set, _, err := New(Options{Entries: everything(), HostBash: true, Run: everyRun()})
	require.NoError(t, err)
	classes := map[string]agent.RetryClass{"bash": agent.ClassUnsafe, "write_file": agent.ClassWrite, "str_replace": agent.ClassWrite}
	keys := map[string]agent.KeyRule{"read_file": agent.KeyRange, "write_file": agent.KeyAll, "str_replace": agent.KeyAll}
	for _, spec := range set.Specs() {
		class, ok := classes[spec.Name]
		if !ok {
			class = agent.ClassRead
		}
		require.Equal(t, class, spec.Class, spec.Name)
		require.Equal(t, keys[spec.Name], spec.Key, spec.Name)
		want := time.Minute
		if spec.Name == "bash" {
			want = 10*time.Minute + bashSlack
		}
		require.Equal(t, want, spec.Timeout, spec.Name)
		require.Regexp(t, `^[A-Za-z0-9_-]{1,64}$`, spec.Name)
		require.NotEmpty(t, spec.Description)
		var schema struct {
			Type       string `json:"type"`
			Properties map[string]struct {
				Type        any    `json:"type"`
				Description string `json:"description"`
			} `json:"properties"`
			Required []string `json:"required"`
		}
		require.NoError(t, json.Unmarshal(spec.Parameters, &schema), spec.Name)
		require.Equal(t, "object", schema.Type)
		require.NotEmpty(t, schema.Properties)
		require.NotEmpty(t, schema.Required)
		for name, p := range schema.Properties {
			require.IsType(t, "", p.Type, "%s.%s: one type", spec.Name, name)
			require.NotEmpty(t, p.Description, "%s.%s", spec.Name, name)
			require.NotContains(t, []string{"user", "thread", "state", "runtime", "tool_call_id", "call_id"}, name) // 10.1-15
		}
	}
	got, err := json.MarshalIndent(set.Specs(), "", "  ")
	require.NoError(t, err)
	const golden = "testdata/specs.json"
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o750))
		require.NoError(t, os.WriteFile(golden, append(got, '\n'), 0o600))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), string(got)+"\n", "run with -update when the change is meant")
}

// A13, B04: nothing at all is {}; what is wrong is named.
func TestArguments(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	k.write("f", "1\n2\n3")
	for _, c := range []struct{ args, want string }{
		{"", `Error: Invalid arguments for read_file: missing required argument "path"`},
		{"null", `Error: Invalid arguments for read_file: missing required argument "path"`},
		{"{}", `Error: Invalid arguments for read_file: missing required argument "path"`},
		{"[]", "Error: Invalid arguments for read_file: the arguments must be a JSON object"},
		{`"f"`, "Error: Invalid arguments for read_file: the arguments must be a JSON object"},
		{`{"path":"f`, "Error: Invalid arguments for read_file: the arguments must be a JSON object"},
		{`{"path":["f"]}`, `Error: Invalid arguments for read_file: argument "path" must be a string, got ["f"]`},
		{`{"path":"f","start_line":"two"}`, `Error: Invalid arguments for read_file: argument "start_line" must be an integer, got "two"`},
		{`{"path":"f","start_line":1.5}`, `Error: Invalid arguments for read_file: argument "start_line" must be an integer, got 1.5`},
		{`{"path":"f","start_line":99999999999999999999}`, `Error: Invalid arguments for read_file: argument "start_line" must be an integer, got 99999999999999999999`},
		{`{"path":"f","start_line":" 3 ","unknown":true,"description":7}`, "3"},
		{`{"path":"f","end_line":1.0}`, "1"},
	} {
		require.Equal(t, c.want, k.call("read_file", c.args).Text, c.args)
	}
	require.Equal(t, "OK", k.ok("write_file", `{"path":"n","content":42}`))
	require.Equal(t, "42", k.read("n"))
	require.Equal(t, "OK", k.ok("write_file", `{"path":"n","content":true,"append":"true"}`))
	require.Equal(t, "42true", k.read("n"))
	k.fails("write_file", a{"path": "n", "content": a{"k": make([]int, 100)}}, `"content" must be a string`, "...")
	require.Less(t, len(k.call("write_file", a{"path": "n", "content": a{"k": make([]int, 99999)}}).Text), 200)
}

func FuzzArguments(f *testing.F) {
	for _, seed := range []string{`{"path":"f"}`, `{"path":null}`, `[`, `{"max_results":1e300}`, `{"path":"\ud800"}`} {
		f.Add(seed)
	}
	tool, err := glob(0)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, args string) {
		r, err := Run(t.Context(), tool, Call{Args: json.RawMessage(args)})
		require.NoError(t, err)
		require.True(t, r.Error) // at the latest, there is no sandbox
		require.NotContains(t, r.Text, "panic")
	})
}
