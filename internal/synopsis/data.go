package synopsis

import (
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Bounds of the structure of JSON.
const (
	maxKeys  = 12
	maxDepth = 4
)

// jsonOutline tells the keys of JSON with their types.
func jsonOutline(text string) (outline, bool) {
	trimmed := strings.TrimSpace(text)
	if trimmed == "" || trimmed[0] != '{' && trimmed[0] != '[' {
		return outline{}, false
	}
	var value any
	if json.Unmarshal([]byte(trimmed), &value) != nil {
		return outline{}, false
	}
	about := outline{kind: "json", title: jsonType(value)}
	about.structure = jsonPaths(nil, "", value, 0)
	return about, true
}

func jsonPaths(paths []string, at string, value any, depth int) []string {
	if depth == maxDepth {
		return paths
	}
	switch v := value.(type) {
	case map[string]any:
		keys := slices.Sorted(maps.Keys(v))
		for _, key := range keys[:min(len(keys), maxKeys)] {
			name := prefix(key, maxLineText/2)
			if at != "" {
				name = at + "." + name
			}
			paths = append(paths, name+": "+jsonType(v[key]))
			paths = jsonPaths(paths, name, v[key], depth+1)
		}
		if n := len(keys) - maxKeys; n > 0 {
			paths = append(paths, fmt.Sprintf("%s: %d more keys", strings.TrimPrefix(at+".*", "."), n))
		}
	case []any:
		if len(v) > 0 {
			paths = jsonPaths(paths, at+"[]", v[0], depth+1)
		}
	}
	return paths
}

func jsonType(value any) string {
	switch v := value.(type) {
	case map[string]any:
		return fmt.Sprintf("object with %d keys", len(v))
	case []any:
		return fmt.Sprintf("list of %d", len(v))
	case string:
		return "text"
	case float64:
		return "number"
	case bool:
		return "true or false"
	}
	return "null"
}

// columnName is what a header of a table looks like.
var columnName = regexp.MustCompile(`^[\p{L}_][\p{L}\p{N}_ .()/%#-]{0,63}$`)

// minRows is how many rows a table has at least.
const minRows = 5

// tableOutline tells the columns of comma- or tab-separated values.
func tableOutline(text string) (outline, bool) {
	for _, kind := range []struct {
		name  string
		comma rune
	}{{"csv", ','}, {"tsv", '\t'}} {
		first, _, _ := strings.Cut(text, "\n")
		if !strings.ContainsRune(prefix(first, 4096), kind.comma) {
			continue
		}
		r := csv.NewReader(strings.NewReader(text))
		r.Comma, r.ReuseRecord = kind.comma, true
		header, err := r.Read()
		if err != nil || len(header) < 2 || slices.ContainsFunc(header, func(h string) bool { return !columnName.MatchString(h) }) {
			continue
		}
		columns := slices.Clone(header)
		rows := 1
		for err == nil {
			if _, err = r.Read(); err == nil {
				rows++
			}
		}
		if rows < minRows || !errors.Is(err, io.EOF) {
			continue // rows of unequal width, or quotes that do not fit
		}
		return outline{kind: kind.name, title: fmt.Sprintf("%d columns, %d rows below the header", len(columns), rows-1), structure: columns}, true
	}
	return outline{}, false
}

// xmlOutline tells the root of XML and how often its children occur.
func xmlOutline(text string) (outline, bool) {
	trimmed := strings.TrimSpace(text)
	if !strings.HasPrefix(trimmed, "<") {
		return outline{}, false
	}
	d := xml.NewDecoder(strings.NewReader(trimmed))
	tree := elements{counts: map[string]int{}}
	for {
		token, err := d.RawToken()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil || !tree.take(token) {
			return outline{}, false
		}
	}
	if tree.root == "" || tree.depth != 0 || strings.EqualFold(tree.root, "html") {
		return outline{}, false
	}
	about := outline{kind: "xml", title: "root " + tree.root}
	for _, name := range tree.order {
		about.structure = append(about.structure, fmt.Sprintf("%s: %d times", name, tree.counts[name]))
	}
	return about, true
}

// elements are the root of a document and its children.
type elements struct {
	root   string
	order  []string // of the children's first occurrences
	counts map[string]int
	depth  int
}

// take reports false for what no document has.
func (e *elements) take(token xml.Token) bool {
	switch t := token.(type) {
	case xml.StartElement:
		name := prefix(t.Name.Local, maxLineText/2)
		switch e.depth {
		case 0:
			if e.root != "" {
				return false
			}
			e.root = name
		case 1:
			if e.counts[name]++; e.counts[name] == 1 {
				e.order = append(e.order, name)
			}
		}
		e.depth++
	case xml.EndElement:
		e.depth--
	}
	return e.depth >= 0
}
