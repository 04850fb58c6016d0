package config

import (
	"regexp"
	"strings"

	"gopkg.in/yaml.v3"
)

// variableName is the grammar of a name after $ or ${.
const variableName = `[A-Za-z_][A-Za-z0-9_]*`

// expansion finds variables in values.
type expansion struct {
	whole    *regexp.Regexp // $NAME and nothing else
	escaped  *regexp.Regexp // $$NAME and nothing else: the text $NAME
	almost   *regexp.Regexp // looks like a variable and is none
	embedded *regexp.Regexp // ${...}, or $${ for the text ${
	braces   *regexp.Regexp // the inside of ${...}: name, or name:-default
}

func newExpansion() expansion {
	return expansion{
		whole:    regexp.MustCompile(`^\$(` + variableName + `)$`),
		escaped:  regexp.MustCompile(`^\$\$` + variableName + `$`),
		almost:   regexp.MustCompile(`^\$[A-Za-z_]\S*$`),
		embedded: regexp.MustCompile(`\$\$\{|\$\{[^}]*\}?`),
		braces:   regexp.MustCompile(`^(?s)(` + variableName + `)(:-(.*))?$`),
	}
}

// expand replaces the variables in all text values below n, never in keys. What
// a variable holds is not looked at again.
func (d *decoder) expand(n *yaml.Node, path string, x expansion) {
	switch n.Kind {
	case yaml.DocumentNode, yaml.SequenceNode:
		for i, item := range n.Content {
			at := path
			if n.Kind == yaml.SequenceNode {
				at = index(path, i)
			}
			d.expand(item, at, x)
		}
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			d.expand(n.Content[i+1], join(path, resolve(n.Content[i]).Value), x)
		}
	case yaml.ScalarNode:
		if strings.Contains(n.Value, "$") {
			d.expandText(n, path, x)
		}
	case yaml.AliasNode: // resolved before
	}
}

func (d *decoder) expandText(n *yaml.Node, path string, x expansion) {
	raw := n.Value
	if x.escaped.MatchString(raw) {
		d.replace(n, raw[1:])
		return
	}
	if m := x.whole.FindStringSubmatch(raw); m != nil {
		if value, ok := d.lookup(m[1]); ok {
			d.replace(n, value)
			d.raw[n] = raw
		} else {
			d.reportUnset(n, path, m[1])
		}
		return
	}
	if x.almost.MatchString(raw) && !strings.Contains(raw, "${") {
		d.warnf(n.Line, "%s: taken as plain text, since $NAME must be the whole value and a name has letters, digits and _; "+
			"write ${NAME} within text, $$NAME for a dollar sign", path)
		return
	}
	variable := false
	text := x.embedded.ReplaceAllStringFunc(raw, func(match string) string {
		if match == "$${" {
			return "${"
		}
		variable = true
		return d.braced(n, path, match, x)
	})
	d.replace(n, text)
	if variable {
		d.raw[n] = oneLine(raw)
	}
}

// braced returns what ${NAME} or ${NAME:-default} stands for. As in a shell the
// default also stands in for a variable that is set and empty.
func (d *decoder) braced(n *yaml.Node, path, match string, x expansion) string {
	inner, closed := strings.CutSuffix(match[2:], "}")
	m := x.braces.FindStringSubmatch(inner)
	if !closed || m == nil {
		d.errorf(n.Line, "%s: %s is not a variable; write ${NAME} or ${NAME:-default}, or $${ for the text ${", path, quote(oneLine(match)))
		d.unset[n] = true
		return ""
	}
	value, ok := d.lookup(m[1])
	hasDefault := m[2] != ""
	switch {
	case hasDefault && value == "":
		return m[3]
	case !ok:
		d.reportUnset(n, path, m[1])
	}
	return value
}

func (d *decoder) reportUnset(n *yaml.Node, path, name string) {
	d.errorf(n.Line, "%s: the environment variable %s is not set; set it, put it into .env beside the config, "+
		"or write ${%s:-default}", path, name, name)
	d.unset[n] = true
}

// replace sets the text of n and keeps it text, whatever it now looks like.
func (d *decoder) replace(n *yaml.Node, text string) {
	n.Value, n.Tag, n.Style = text, "!!str", yaml.DoubleQuotedStyle
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
