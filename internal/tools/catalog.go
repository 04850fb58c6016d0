package tools

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const useBash = "sandbox:bash"

// makers are the tools that an entry can name, by the value of Use.
type makers map[string]Maker

// catalog is every value of Use that an entry may have.
func catalog(o Options) makers {
	plain := func(build func() (Tool, error)) Maker {
		return func(Entry) (Tool, error) { return build() }
	}
	limited := func(build func(int) (Tool, error)) Maker {
		return func(e Entry) (Tool, error) {
			n, err := intOption(e, "max_results")
			if err != nil {
				return nil, err
			}
			return build(n)
		}
	}
	all := makers{
		useBash:               func(Entry) (Tool, error) { return bash(o.BashTimeout) },
		"sandbox:ls":          plain(ls),
		"sandbox:read_file":   plain(readFile),
		"sandbox:write_file":  plain(writeFile),
		"sandbox:str_replace": plain(strReplace),
		"sandbox:glob":        limited(glob),
		"sandbox:grep":        limited(grep),
	}
	maps.Copy(all, webMakers(o))
	maps.Copy(all, o.Makers)
	return all
}

// moduleUse matches the module path under which DeerFlow's own configuration
// names these tools.
var moduleUse = regexp.MustCompile(`^[\w.]*\bsandbox\.tools:(bash|ls|read_file|write_file|str_replace|glob|grep)_tool$`)

// canonicalUse gives the name of a tool in this catalog.
func canonicalUse(use string) string {
	use = strings.TrimSpace(use)
	if m := moduleUse.FindStringSubmatch(use); m != nil {
		return "sandbox:" + m[1]
	}
	return use
}

// intOption reads a whole number of an entry's options; 0 means none. YAML, JSON
// and a variable of the environment give different types.
func intOption(e Entry, name string) (int, error) {
	switch v := e.Extra[name].(type) {
	case nil:
		return 0, nil
	case int:
		return v, nil
	case int64:
		return int(v), nil
	case float64:
		if v == float64(int(v)) {
			return int(v), nil
		}
	case string:
		if n, err := strconv.Atoi(strings.TrimSpace(v)); err == nil {
			return n, nil
		}
	}
	return 0, fmt.Errorf("option %s must be a whole number, got %v", name, e.Extra[name])
}

// build makes the tool of an entry.
func (m makers) build(e Entry) (Tool, error) {
	maker, ok := m[canonicalUse(e.Use)]
	if !ok {
		return nil, fmt.Errorf("tool %q: unknown use %q; known are %s", e.Name, e.Use, strings.Join(slices.Sorted(maps.Keys(m)), ", "))
	}
	t, err := maker(e)
	if err != nil {
		return nil, fmt.Errorf("tool %q (%s): %w", e.Name, e.Use, err)
	}
	return t, nil
}
