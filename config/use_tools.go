package config

import (
	"maps"
	"slices"
	"strings"
)

// sandboxTools is the provider part of the tools that work in the sandbox.
const sandboxTools = "sandbox"

// sandboxToolNames are the tools that this version has.
func sandboxToolNames() []string {
	return []string{"bash", "ls", "read_file", "write_file", "str_replace", "glob", "grep"}
}

// ToolName returns the tool's own name, which is what the model sees: the part
// of Use after the colon.
func (t Tool) ToolName() string {
	_, name, _ := strings.Cut(t.Use, ":")
	return name
}

// Available reports whether this version has the tool behind the entry. Entries
// without one are kept and skipped.
func (t Tool) Available() bool {
	provider, name, _ := strings.Cut(t.Use, ":")
	return provider == sandboxTools && slices.Contains(sandboxToolNames(), name) || slices.Contains(webProviders()[provider].tools, name)
}

// canonicalTool returns the "<provider>:<tool>" form of use, and whether use is
// a tool that is known at all.
func canonicalTool(use string) (string, bool) {
	module, name, ok := strings.Cut(modernPath(use), ":")
	if !ok {
		return use, false
	}
	short := strings.TrimSuffix(name, "_tool")
	if module == sandboxTools || module == "deerflow.sandbox.tools" {
		return sandboxTools + ":" + short, slices.Contains(sandboxToolNames(), short)
	}
	for provider, p := range webProviders() {
		if module == provider {
			return use, slices.Contains(webTools(), name)
		}
		if pythonModule(module, provider, p.modules) {
			if strings.HasSuffix(short, "_search") && short != "image_search" {
				short = "web_search"
			}
			return provider + ":" + short, slices.Contains(webTools(), short)
		}
	}
	return use, strings.HasPrefix(module, "deerflow.")
}

// pythonModule reports whether module is one of DeerFlow's community modules
// for that provider, such as deerflow.community.jina_ai.tools.
func pythonModule(module, provider string, others []string) bool {
	rest, ok := strings.CutPrefix(module, "deerflow.community.")
	if !ok {
		return false
	}
	for part := range strings.SplitSeq(rest, ".") {
		if part == provider || slices.Contains(others, part) {
			return true
		}
	}
	return false
}

// finishTools puts in the standard tools when the section is missing and gives
// every entry the short form of its use.
func (d *decoder) finishTools(c *Config) {
	if c.Tools == nil {
		c.Tools = StandardTools()
		return
	}
	var missing notes
	first := map[string]int{}
	for i := range c.Tools {
		t, path := &c.Tools[i], index("tools", i)
		if t.Use == "" || !d.finishTool(t, path) {
			continue // already reported
		}
		if !t.Available() {
			missing.add(t.Use, d.line(path), "")
			continue
		}
		if t.Name != "" && t.Name != t.ToolName() {
			d.warnf(d.line(path, "name"), "%s.name is %q, but the model sees the tool as %q", path, t.Name, t.ToolName())
		}
		if j, dup := first[t.Name]; dup {
			d.warnf(d.line(path, "name"), "%s.name: %q is already the name of tools[%d] (line %d), which wins",
				path, t.Name, j, d.line(index("tools", j), "name"))
			continue
		}
		first[t.Name] = i
	}
	missing.warn(d, "tools that this version does not have are left out")
	d.checkWebKeys(c)
}

// finishTool settles one entry and reports whether its tool is known.
func (d *decoder) finishTool(t *Tool, path string) bool {
	use, known := canonicalTool(t.Use)
	provider, name, _ := strings.Cut(use, ":")
	web, isWeb := webProviders()[provider]
	switch {
	case !known:
		d.errorf(d.line(path, "use"), "%s.use: unknown tool %s%s (%s)", path, d.given(path+".use", t.Use), didYouMean(t.Use, knownTools()), toolsThere(provider, name))
		return false
	case isWeb && use == t.Use && !slices.Contains(web.tools, name): // DeerFlow's own paths are left out with a warning
		d.errorf(d.line(path, "use"), "%s.use: %s has no %s (%s)", path, provider, name, toolsThere(provider, name))
		return false
	}
	t.Use = use
	hideSecrets(t.Options)
	if isWeb {
		d.checkWebOptions(t, path, web.options[name])
	} else {
		d.warnTypos(path, "is taken as an option of the tool", t.Options, fieldNames(*t), []string{"user", "uses"})
	}
	return true
}

// toolsThere says which tools there are beside one that is not: those of its
// provider, who else provides it, or all of them.
func toolsThere(provider, name string) string {
	switch {
	case provider == sandboxTools:
		return sandboxTools + " has: " + strings.Join(sandboxToolNames(), ", ")
	case slices.Contains(webTools(), name):
		return name + " is provided by: " + strings.Join(providersOf(name), ", ")
	}
	kinds := []string{sandboxTools + " has " + strings.Join(sandboxToolNames(), ", ")}
	for _, tool := range webTools() {
		kinds = append(kinds, tool+" is provided by "+strings.Join(providersOf(tool), ", "))
	}
	return strings.Join(kinds, "; ")
}

// knownTools are the names to suggest for a misspelt use.
func knownTools() []string {
	known := uses()
	all := make([]string, 0, 2*len(known))
	for _, use := range known {
		provider, name, _ := strings.Cut(use, ":")
		module := "deerflow.community." + provider
		if provider == sandboxTools {
			module = "deerflow." + sandboxTools
		}
		all = append(all, use, module+".tools:"+name+"_tool")
	}
	return all
}

// uses are the tools that this version has, in order.
func uses() []string {
	names, providers := sandboxToolNames(), webProviders()
	all := make([]string, 0, len(names)+2*len(providers))
	for _, name := range names {
		all = append(all, sandboxTools+":"+name)
	}
	for _, provider := range slices.Sorted(maps.Keys(providers)) {
		for _, tool := range providers[provider].tools {
			all = append(all, provider+":"+tool)
		}
	}
	return all
}
