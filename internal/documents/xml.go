package documents

import (
	"encoding/xml"
	"errors"
	"io"
	"strconv"

	"golang.org/x/net/html/charset"
)

// node is an element. Names are local ones: the namespaces differ between the
// editions of the format, and no two that matter share a name.
type node struct {
	name     string
	attrs    []xml.Attr
	children []*node
	text     string // of an element without children
}

// attr is the value of an attribute, "" when there is none.
func (n *node) attr(name string) string {
	for _, a := range n.attrs {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// number is a whole number in an attribute, or def.
func (n *node) number(name string, def int) int {
	if v, err := strconv.Atoi(n.attr(name)); err == nil {
		return v
	}
	return def
}

// at goes down by names; where it ends is an empty node that may be asked on.
func (n *node) at(names ...string) *node {
	for _, name := range names {
		n = n.child(name)
	}
	return n
}

// has reports whether there is such a child.
func (n *node) has(name string) bool { return n.child(name).name != "" }

func (n *node) child(name string) *node {
	for _, c := range n.children {
		if c.name == name {
			return c
		}
	}
	return &node{}
}

// all are the children of a name.
func (n *node) all(name string) []*node {
	var list []*node
	for _, c := range n.children {
		if c.name == name {
			list = append(list, c)
		}
	}
	return list
}

// find is the first element of a name below n, or an empty one.
func (n *node) find(name string) *node {
	for _, c := range n.children {
		if c.name == name {
			return c
		}
		if found := c.find(name); found.name != "" {
			return found
		}
	}
	return &node{}
}

// xmlReader reads elements within bounds. Entities beyond the five of XML are
// errors, so none expands.
type xmlReader struct {
	d     *xml.Decoder
	nodes int
}

func newXMLReader(r io.Reader) *xmlReader {
	d := xml.NewDecoder(r)
	d.CharsetReader = charset.NewReaderLabel
	return &xmlReader{d: d}
}

// parse reads a whole part.
func parse(r io.Reader) (*node, error) {
	x := newXMLReader(r)
	for {
		token, err := x.d.Token()
		if err != nil {
			return nil, err
		}
		switch t := token.(type) {
		case xml.Directive:
			return nil, errDirective
		case xml.StartElement:
			return x.element(t, 1)
		}
	}
}

var errDirective = refuse("it declares a document type of its own")

// element reads on to the end of an element.
func (x *xmlReader) element(start xml.StartElement, depth int) (*node, error) {
	if depth > maxDepth {
		return nil, refuse("its elements lie more than %d deep in each other", maxDepth)
	}
	if x.nodes += 1 + len(start.Attr); x.nodes > maxNodes {
		return nil, refuse("a part of it has more than %d elements", maxNodes)
	}
	n := &node{name: start.Name.Local, attrs: start.Attr}
	var text []byte
	for {
		token, err := x.d.Token()
		if err != nil {
			return nil, err
		}
		switch t := token.(type) {
		case xml.StartElement:
			child, err := x.element(t, depth+1)
			if err != nil {
				return nil, err
			}
			n.children = append(n.children, child)
		case xml.CharData:
			if len(n.children) == 0 {
				text = append(text, t...)
			}
		case xml.Directive:
			return nil, errDirective
		case xml.EndElement:
			if len(n.children) == 0 {
				n.text = string(text)
			}
			return n, nil
		}
	}
}

// eachChild hands over the children of the first element of a name, one at a
// time, so that a long part need not be in memory as a whole.
func eachChild(r io.Reader, parent string, visit func(*node) error) error {
	x := newXMLReader(r)
	inside := false
	for {
		token, err := x.d.Token()
		if errors.Is(err, io.EOF) && !inside {
			return nil
		}
		if err != nil {
			return err
		}
		switch t := token.(type) {
		case xml.Directive:
			return errDirective
		case xml.EndElement:
			if inside {
				return nil
			}
		case xml.StartElement:
			if !inside {
				inside = t.Name.Local == parent
				continue
			}
			x.nodes = 0
			n, err := x.element(t, 1)
			if err != nil {
				return err
			}
			if err := visit(n); err != nil {
				return err
			}
		}
	}
}
