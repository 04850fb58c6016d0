package config

import "gopkg.in/yaml.v3"

// pair is one key of a mapping with its value.
type pair struct {
	name       string
	key, value *yaml.Node
}

// pairs returns the keys of a mapping in order, those of merged mappings ("<<")
// last. Keys given twice and keys that are not text are errors.
func (d *decoder) pairs(n *yaml.Node, path string) []pair {
	var own, merged []pair
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := resolve(n.Content[i]), n.Content[i+1]
		if key.Kind != yaml.ScalarNode || isNull(key) {
			d.errorf(n.Content[i].Line, "%swant text as a key, got %s", prefix(path), d.describe(key))
			continue
		}
		if key.ShortTag() == "!!merge" {
			merged = append(merged, d.mergedPairs(value, path)...)
			continue
		}
		if first, twice := seen[key.Value]; twice {
			d.errorf(n.Content[i].Line, "%skey %s is given twice; the first is in line %d", prefix(path), key.Value, first)
			continue
		}
		seen[key.Value] = n.Content[i].Line
		own = append(own, pair{name: key.Value, key: n.Content[i], value: value})
	}
	for _, p := range merged {
		if _, has := seen[p.name]; !has {
			seen[p.name] = p.key.Line
			own = append(own, p)
		}
	}
	return own
}

// mergedPairs returns the keys that a "<<" brings in: those of one mapping, or
// of several of which an earlier one wins.
func (d *decoder) mergedPairs(n *yaml.Node, path string) []pair {
	at := n.Line
	n, ok := d.enter(n, path)
	if !ok {
		return nil
	}
	d.depth++
	defer func() { d.depth-- }()
	switch n.Kind {
	case yaml.MappingNode:
		return d.pairs(n, path)
	case yaml.SequenceNode:
		var all []pair
		for _, item := range n.Content {
			all = append(all, d.mergedPairs(item, path)...)
		}
		return all
	default:
		d.errorf(at, "%s<< wants a mapping, got %s", prefix(path), d.describe(n))
		return nil
	}
}
