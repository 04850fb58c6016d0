package config

import (
	"bytes"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// origins tell where the values of a config come from, by the path of a key.
type origins struct {
	lines map[string]int    // of the keys that the file has
	raw   map[string]string // what the file says where a variable was filled in
}

// YAML returns the config with every default filled in and no secret. Values
// that the file has are followed by their line and the variables that they were
// made of.
func (c *Config) YAML() ([]byte, error) {
	root, err := c.shown()
	if err != nil {
		return nil, err
	}
	c.annotate(root, "")
	var out bytes.Buffer
	e := yaml.NewEncoder(&out)
	e.SetIndent(2)
	if err := e.Encode(root); err != nil {
		return nil, fmt.Errorf("show the config: %w", err)
	}
	return out.Bytes(), e.Close()
}

// Values returns the same as plain data with the names of the file.
func (c *Config) Values() (map[string]any, error) {
	root, err := c.shown()
	if err != nil {
		return nil, err
	}
	var values map[string]any
	if err := root.Decode(&values); err != nil {
		return nil, fmt.Errorf("show the config: %w", err)
	}
	return values, nil
}

func (c *Config) shown() (*yaml.Node, error) {
	var root yaml.Node
	if err := root.Encode(c); err != nil {
		return nil, fmt.Errorf("show the config: %w", err)
	}
	hide(&root, "", false)
	return &root, nil
}

// hide takes out what types do not know to be secret: passwords within
// addresses, and keys of free maps that are named like a secret.
func hide(n *yaml.Node, key string, free bool) {
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			name := n.Content[i].Value
			hide(n.Content[i+1], name, free || slices.Contains(freeKeys(), name))
		}
	case yaml.ScalarNode:
		if n.ShortTag() != "!!str" || n.Value == "" {
			return
		}
		if free && namesSecret(key) {
			n.Value = redacted
		} else if u, err := url.Parse(n.Value); err == nil && u.User != nil {
			n.Value = u.Redacted()
		}
	default:
		for _, item := range n.Content {
			hide(item, key, free)
		}
	}
}

// freeKeys are those whose contents go to a provider as they are.
func freeKeys() []string {
	return []string{"extra", "thinking", "when_thinking_enabled", "when_thinking_disabled"}
}

func (c *Config) annotate(n *yaml.Node, path string) {
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			c.annotate(n.Content[i+1], join(path, n.Content[i].Value))
		}
	case yaml.SequenceNode:
		for i, item := range n.Content {
			c.annotate(item, index(path, i))
		}
	default:
		n.LineComment = c.origin(path)
	}
}

// origin says where a value comes from, empty for a default. Of text that holds
// variables it names those only: the rest may be a part of a secret.
func (c *Config) origin(path string) string {
	line := c.origins.lines[path]
	if line == 0 {
		return ""
	}
	text := fmt.Sprintf("line %d", line)
	names := regexp.MustCompile(`\$\{?(`+variableName+`)`).FindAllStringSubmatch(c.origins.raw[path], -1)
	for i, name := range names {
		names[i] = []string{"$" + name[1]}
	}
	if len(names) > 0 {
		text += ", from " + strings.Join(slices.Concat(names...), ", ")
	}
	return text
}
