package config

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"sort"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// document parses the bytes of the file and returns its top mapping, nil after
// an error. A file without content has an empty one.
func (d *decoder) document(data []byte) *yaml.Node {
	if !utf8.Valid(data) {
		d.errorf(invalidLine(data), "this is not UTF-8 text")
		return nil
	}
	doc, err := parseYAML(data)
	if err != nil {
		line := syntaxLine(data, err)
		d.errorf(line, "not valid YAML: %s%s", message(err), syntaxHint(message(err), lineText(data, line)))
		return nil
	}
	if isNull(doc) {
		return emptyMapping()
	}
	root := resolve(doc)
	if root.Kind != yaml.MappingNode {
		d.errorf(root.Line, "want sections such as \"models:\" at the top, got %s", d.describe(root))
		return nil
	}
	return root
}

// parseYAML returns the content of the only document in data.
func parseYAML(data []byte) (*yaml.Node, error) {
	stream := yaml.NewDecoder(bytes.NewReader(data))
	var doc yaml.Node
	if err := stream.Decode(&doc); err != nil {
		if errors.Is(err, io.EOF) {
			return emptyMapping(), nil
		}
		return nil, err
	}
	var second yaml.Node
	if err := stream.Decode(&second); err == nil {
		return nil, errors.New("a second document; a config has one, so remove the \"---\" or \"...\" before it")
	} else if !errors.Is(err, io.EOF) {
		return nil, err
	}
	return doc.Content[0], nil
}

func emptyMapping() *yaml.Node { return &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Line: 1} }

// message is the parser's text without its own prefix and line.
func message(err error) string {
	return regexp.MustCompile(`^yaml: (line \d+: )?`).ReplaceAllString(err.Error(), "")
}

// syntaxLine returns the line that breaks the file. The parser's own number is
// often that of the line before, or missing; but it reads as a stream, so the
// shortest head of the file with the same error ends in the line meant.
func syntaxLine(data []byte, err error) int {
	lines := bytes.SplitAfter(data, []byte("\n"))
	want := message(err)
	return 1 + sort.Search(len(lines)-1, func(i int) bool {
		_, err := parseYAML(bytes.Join(lines[:i+1], nil))
		return err != nil && message(err) == want
	})
}

// syntaxHint names the two slips that people make.
func syntaxHint(message, line string) string {
	indent := line[:len(line)-len(strings.TrimLeft(line, " \t"))]
	if strings.Contains(indent, "\t") {
		return "; indent with spaces, a tab is not allowed"
	}
	_, value, _ := strings.Cut(line, ": ")
	if strings.IndexAny(strings.TrimSpace(value), "@`%*&!") == 0 ||
		strings.Contains(message, "mapping values") && strings.Contains(value, ": ") {
		return "; put the value in quotes"
	}
	return ""
}

func lineText(data []byte, line int) string {
	lines := strings.Split(string(data), "\n")
	return lines[min(line, len(lines))-1]
}

func invalidLine(data []byte) int {
	line := 1
	for len(data) > 0 {
		r, size := utf8.DecodeRune(data)
		if r == utf8.RuneError && size == 1 {
			return line
		}
		if r == '\n' {
			line++
		}
		data = data[size:]
	}
	return line
}
