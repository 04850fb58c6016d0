package config

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// comments are the doc comments of this package: the one place in which
// settings are described.
type comments struct {
	types  map[string]string            // by type
	fields map[string]map[string]string // by type and field
	consts map[string]string            // values of constants by name
}

func readComments(t *testing.T) *comments {
	t.Helper()
	c := &comments{types: map[string]string{}, fields: map[string]map[string]string{}, consts: map[string]string{}}
	entries, err := os.ReadDir(".")
	require.NoError(t, err)
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), e.Name(), nil, parser.ParseComments)
		require.NoError(t, err)
		for _, decl := range file.Decls {
			if g, ok := decl.(*ast.GenDecl); ok {
				c.declaration(g)
			}
		}
	}
	return c
}

func (c *comments) declaration(g *ast.GenDecl) {
	for _, spec := range g.Specs {
		switch spec := spec.(type) {
		case *ast.ValueSpec:
			for i, name := range spec.Names {
				if i < len(spec.Values) {
					if lit, ok := spec.Values[i].(*ast.BasicLit); ok && lit.Kind == token.STRING {
						c.consts[name.Name], _ = strconv.Unquote(lit.Value)
					}
				}
			}
		case *ast.TypeSpec:
			doc := g.Doc
			if spec.Doc != nil {
				doc = spec.Doc
			}
			c.types[spec.Name.Name] = doc.Text()
			if s, ok := spec.Type.(*ast.StructType); ok {
				c.structure(spec.Name.Name, s)
			}
		}
	}
}

// structure takes the comments of fields. One that stands above several fields
// describes all those that it names.
func (c *comments) structure(name string, s *ast.StructType) {
	c.fields[name] = map[string]string{}
	above := ""
	for _, f := range s.Fields.List {
		text := f.Doc.Text()
		if text == "" {
			text = f.Comment.Text()
		}
		for _, ident := range f.Names {
			if text == "" && strings.Contains(above, ident.Name) {
				text = above
			}
			c.fields[name][ident.Name] = text
		}
		above = text
	}
}

// of describes a field in the words of the file: names of Go become keys and
// values.
func (c *comments) of(t reflect.Type, f reflect.StructField) string {
	text := c.fields[t.Name()][f.Name]
	if onlyDefault(text) && f.Name == "Enabled" {
		text = "Switches this on."
	}
	inner := f.Type
	for inner.Kind() == reflect.Pointer || inner.Kind() == reflect.Slice {
		inner = inner.Elem()
	}
	if doc := c.types[inner.Name()]; text == "" && inner.PkgPath() == t.PkgPath() {
		key, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		text = strings.ReplaceAll(doc, inner.Name(), key)
	}
	words := regexp.MustCompile(`-?\b[A-Z][A-Za-z]+\b`)
	text = words.ReplaceAllStringFunc(text, func(word string) string {
		if field, ok := t.FieldByName(word); ok {
			if key, _, _ := strings.Cut(field.Tag.Get("yaml"), ","); key != "" && key != "-" {
				return key
			}
		}
		if value, ok := c.consts[word]; ok {
			return value
		}
		return word
	})
	return strings.Join(strings.Fields(text), " ")
}

// onlyDefault reports whether a comment is nothing but the value without one.
func onlyDefault(text string) bool {
	return regexp.MustCompile(`^(true|false|[\d.]+( \w+)?)?\s*$`).MatchString(text)
}
