package synopsis

import (
	"regexp"
	"strings"

	"gopkg.in/yaml.v3"
)

// maxYAML is the longest text that is tried as YAML, in bytes.
const maxYAML = 500_000

var yamlKey = regexp.MustCompile(`^[A-Za-z_][\w./-]*$`)

// yamlOutline tells the top-level keys of YAML. Lines of a log have colons too:
// they repeat their first words and have nothing below them.
func yamlOutline(text string) (outline, bool) {
	if len(text) > maxYAML || !yamlBegins(text) {
		return outline{}, false
	}
	var doc yaml.Node
	if yaml.NewDecoder(strings.NewReader(text)).Decode(&doc) != nil || len(doc.Content) != 1 {
		return outline{}, false
	}
	root := doc.Content[0]
	if root.Kind != yaml.MappingNode || len(root.Content) < 4 {
		return outline{}, false
	}
	about := outline{kind: "yaml"}
	seen, nested := map[string]bool{}, false
	for i := 0; i < len(root.Content); i += 2 {
		key, value := root.Content[i], root.Content[i+1]
		if seen[key.Value] || !yamlKey.MatchString(key.Value) {
			return outline{}, false
		}
		seen[key.Value] = true
		nested = nested || value.Kind == yaml.MappingNode || value.Kind == yaml.SequenceNode
		about.structure = append(about.structure, key.Value+": "+yamlType(value))
	}
	return about, nested
}

// yamlBegins reports whether the first line with content could be YAML.
func yamlBegins(text string) bool {
	for l := range strings.Lines(text) {
		l = strings.TrimRight(prefix(l, maxLineText), " \r\n")
		if l == "" || strings.HasPrefix(l, "#") || l == "---" {
			continue
		}
		key, _, ok := strings.Cut(l, ":")
		return ok && yamlKey.MatchString(key)
	}
	return false
}

func yamlType(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "mapping"
	case yaml.SequenceNode:
		return "list"
	case yaml.ScalarNode, yaml.DocumentNode, yaml.AliasNode:
	}
	return "value"
}
