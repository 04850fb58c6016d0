package config

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"
)

// decoder fills structs from YAML nodes. Unlike yaml.Node.Decode it goes on
// after a mistake, knows the line of every key, refuses unknown and doubled
// keys and takes the text of a scalar as it stands ("1.10" stays a model name).
type decoder struct {
	problems
	lookup Lookup

	lines   map[string]int        // line of every key that was given, by canonical path
	origins map[string]string     // text before substitution, by path
	raw     map[*yaml.Node]string // the same, by node
	unset   map[*yaml.Node]bool   // values that named an unset variable
	unused  notes                 // keys that are known and not used
	visits  int
	depth   int
}

const (
	maxDepth  = 64      // of nesting; a config needs 8
	maxVisits = 100_000 // of nodes, aliases counted each time
)

// textSetter is a type that takes the text of a scalar and says what it wants
// when the text does not fit.
type textSetter interface{ setText(text string) error }

// wantError says what a value should have been.
type wantError string

func (w wantError) Error() string { return "want " + string(w) }

// enter resolves an alias and counts the visit. It returns false for nodes that
// are not to be decoded: absent ones, and all once the bounds are exceeded, so
// that an anchor that holds itself, or a tower of anchors, ends in an error.
func (d *decoder) enter(n *yaml.Node, path string) (*yaml.Node, bool) {
	if d.visits >= maxVisits {
		return n, false
	}
	d.visits++
	if d.visits == maxVisits || d.depth >= maxDepth {
		top, _, _ := strings.Cut(path, "[")
		d.errorf(n.Line, "%s: nested too deeply, or an anchor (&) that holds itself", top)
		d.visits = maxVisits
		return n, false
	}
	n = resolve(n)
	return n, !isNull(n) && !d.unset[n]
}

func resolve(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode && n.Alias != nil {
		n = n.Alias
	}
	return n
}

func isNull(n *yaml.Node) bool {
	n = resolve(n)
	return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null"
}

// value decodes n into v. A null leaves v at its default.
func (d *decoder) value(n *yaml.Node, path string, f field, v reflect.Value) {
	n, ok := d.enter(n, path)
	if !ok {
		return
	}
	d.depth++
	defer func() { d.depth-- }()
	if raw, ok := d.raw[n]; ok {
		d.origins[path] = raw
	}
	if _, ok := v.Addr().Interface().(textSetter); ok {
		d.scalar(n, path, f, v)
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		target := reflect.New(v.Type().Elem())
		d.value(n, path, f, target.Elem())
		v.Set(target)
	case reflect.Struct:
		d.structure(n, path, v)
	case reflect.Slice:
		d.list(n, path, f, v)
	case reflect.Map:
		d.table(n, path, f, v)
	case reflect.Interface:
		if value := d.generic(n, path); value != nil {
			v.Set(reflect.ValueOf(value))
		}
	default:
		d.scalar(n, path, f, v)
	}
}

func (d *decoder) structure(n *yaml.Node, path string, v reflect.Value) {
	if n.Kind != yaml.MappingNode {
		d.errorf(n.Line, "%swant keys and values, got %s", prefix(path), d.describe(n))
		return
	}
	fields, extra := fieldsOf(v.Type())
	given := map[int]pair{}
	for _, p := range d.pairs(n, path) {
		i := slices.IndexFunc(fields, func(f field) bool { return f.answersTo(p.name) })
		if i < 0 {
			d.otherKey(p, path, v, extra, fields)
			continue
		}
		if isNull(p.value) {
			continue
		}
		if first, both := given[i]; both {
			d.errorf(p.key.Line, "%s%s and %s (line %d) mean the same; keep one", prefix(path), p.name, first.name, first.key.Line)
			continue
		}
		given[i] = p
		d.lines[join(path, fields[i].name)] = p.key.Line
		d.value(p.value, join(path, fields[i].name), fields[i], v.Field(fields[i].index))
	}
	for i, f := range fields {
		p, ok := given[i]
		empty := ok && v.Field(f.index).Kind() == reflect.String && d.blank(p.value)
		if f.required && (!ok || empty) {
			line := n.Line
			if ok {
				line = p.key.Line
			}
			d.errorf(line, "%s%s is missing", prefix(path), f.name)
		}
	}
}

// blank reports whether a value is empty text. One that does not fit is not: it
// has been reported.
func (d *decoder) blank(n *yaml.Node) bool {
	n = resolve(n)
	return n.Kind == yaml.ScalarNode && n.Value == "" && !d.unset[n]
}

// otherKey deals with a key that no field answers to.
func (d *decoder) otherKey(p pair, path string, v reflect.Value, extra int, fields []field) {
	if s, ok := v.Addr().Interface().(interface{ unusedKeys() []string }); ok && slices.Contains(s.unusedKeys(), p.name) {
		if !isNull(p.value) {
			d.generic(p.value, join(path, p.name))
			d.unused.add(join(path, p.name), p.key.Line, "")
		}
		return
	}
	if extra < 0 {
		names := make([]string, len(fields))
		for i, f := range fields {
			names[i] = f.name
		}
		hint := didYouMean(p.name, names)
		if hint == "" {
			hint = "; known keys: " + strings.Join(names, ", ")
		}
		d.errorf(p.key.Line, "%sunknown key %s%s", prefix(path), p.name, hint)
		return
	}
	value := d.generic(p.value, join(path, p.name))
	if d.unset[resolve(p.value)] {
		return
	}
	d.lines[join(path, p.name)] = p.key.Line
	m := v.Field(extra)
	if m.IsNil() {
		m.Set(reflect.MakeMap(m.Type()))
	}
	item := reflect.New(m.Type().Elem()).Elem()
	if value != nil {
		item.Set(reflect.ValueOf(value))
	}
	m.SetMapIndex(reflect.ValueOf(p.name), item)
}

func (d *decoder) list(n *yaml.Node, path string, f field, v reflect.Value) {
	if f.single && n.Kind == yaml.MappingNode {
		n = &yaml.Node{Kind: yaml.SequenceNode, Line: n.Line, Content: []*yaml.Node{n}}
	}
	if n.Kind != yaml.SequenceNode {
		d.errorf(n.Line, "%s: want a list (every entry begins with \"- \"), got %s", path, d.describe(n))
		return
	}
	list := reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content))
	for i, item := range n.Content {
		at := index(path, i)
		d.lines[at] = item.Line
		if isNull(item) {
			d.errorf(item.Line, "%s is empty", at)
			continue
		}
		if s, ok := list.Index(i).Addr().Interface().(defaulter); ok {
			s.setDefaults()
		}
		d.value(item, at, f, list.Index(i))
	}
	v.Set(list)
}

func (d *decoder) table(n *yaml.Node, path string, f field, v reflect.Value) {
	if n.Kind != yaml.MappingNode {
		d.errorf(n.Line, "%s: want keys and values, got %s", path, d.describe(n))
		return
	}
	table := reflect.MakeMap(v.Type())
	for _, p := range d.pairs(n, path) {
		at := join(path, p.name)
		d.lines[at] = p.key.Line
		item := reflect.New(v.Type().Elem()).Elem()
		d.value(p.value, at, f, item)
		table.SetMapIndex(reflect.ValueOf(p.name), item)
	}
	v.Set(table)
}

// scalar sets v, which is no container, from the text of n.
func (d *decoder) scalar(n *yaml.Node, path string, f field, v reflect.Value) {
	if n.Kind != yaml.ScalarNode {
		d.errorf(n.Line, "%s: want a single value, got %s", path, d.describe(n))
		return
	}
	var err error
	switch target := v.Addr().Interface().(type) {
	case textSetter:
		err = target.setText(n.Value)
	case *time.Duration:
		*target, err = parseDuration(n.Value, f)
	default:
		err = setBasic(v, n.Value, f)
	}
	if err != nil {
		d.errorf(n.Line, "%s: %v, got %s%s", path, err, d.describe(n), didYouMean(n.Value, f.enum))
	}
}

// line returns the line of the first of path's keys that was given, or that of
// path itself or of what it stands in, 0 when the file has none of it.
func (d *decoder) line(path string, keys ...string) int {
	for _, key := range keys {
		if line := d.lines[join(path, key)]; line > 0 {
			return line
		}
	}
	for path != "" {
		if line := d.lines[path]; line > 0 {
			return line
		}
		path = path[:max(0, strings.LastIndexAny(path, ".["))]
	}
	return 0
}

// given shows the value at path as the file has it, so that an error never
// shows what a variable held.
func (d *decoder) given(path, value string) string {
	if raw, ok := d.origins[path]; ok {
		return raw
	}
	return quote(value)
}

// describe says what a node is, in the words of the file.
func (d *decoder) describe(n *yaml.Node) string {
	switch {
	case d.raw[n] != "":
		return "the value of " + d.raw[n]
	case n.Kind == yaml.MappingNode:
		return "keys and values"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	default:
		return quote(n.Value)
	}
}

func quote(s string) string {
	const longest = 60
	if r := []rune(s); len(r) > longest {
		s = string(r[:longest]) + "..."
	}
	return strconv.Quote(s)
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

func index(path string, i int) string { return fmt.Sprintf("%s[%d]", path, i) }

func prefix(path string) string {
	if path == "" {
		return ""
	}
	return path + ": "
}
