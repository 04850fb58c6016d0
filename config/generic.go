package config

import (
	"math"

	"gopkg.in/yaml.v3"
)

// generic decodes a value that no struct describes into map[string]any, []any,
// string, bool, int, float64 or nil: what JSON can hold. Dates stay text, and a
// value that came from a variable is text whatever it looks like.
func (d *decoder) generic(n *yaml.Node, path string) any {
	n, ok := d.enter(n, path)
	if !ok {
		return nil
	}
	d.depth++
	defer func() { d.depth-- }()
	switch n.Kind {
	case yaml.MappingNode:
		m := map[string]any{}
		for _, p := range d.pairs(n, path) {
			d.lines[join(path, p.name)] = p.key.Line
			m[p.name] = d.generic(p.value, join(path, p.name))
		}
		return m
	case yaml.SequenceNode:
		list := make([]any, len(n.Content))
		for i, item := range n.Content {
			list[i] = d.generic(item, index(path, i))
		}
		return list
	default:
		return d.genericScalar(n, path)
	}
}

func (d *decoder) genericScalar(n *yaml.Node, path string) any {
	if raw, substituted := d.raw[n]; substituted {
		d.origins[path] = raw
		return n.Value
	}
	switch n.ShortTag() {
	case "!!str", "!!timestamp":
		return n.Value
	case "!!bool", "!!int", "!!float":
	default:
		d.errorf(n.Line, "%s: the YAML tag %s is not supported", path, n.Tag)
		return nil
	}
	var value any
	if err := n.Decode(&value); err != nil {
		d.errorf(n.Line, "%s: %s is no %s", path, quote(n.Value), n.ShortTag())
		return nil
	}
	switch number := value.(type) {
	case int64, uint64:
		d.errorf(n.Line, "%s: want a number that fits 63 bits, got %s", path, quote(n.Value))
		return nil
	case float64:
		if math.IsNaN(number) || math.IsInf(number, 0) {
			d.errorf(n.Line, "%s: want a finite number, got %s", path, quote(n.Value))
			return nil
		}
	}
	return value
}
