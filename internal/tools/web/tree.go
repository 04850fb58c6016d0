package web

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Bounds of the tree of a page. Every element works on the text that is in it, so
// that the work is the text times the elements around it; one that puts a sign
// before each line makes the text longer as well.
const (
	maxDepth   = 100         // elements in each other; those below give way to what is in them
	maxNesting = 32          // quotations and lists in each other; those below are plain blocks
	maxWork    = 100_000_000 // bytes times depth; what comes behind is left out
	nodeWork   = 16          // what an element or a line costs, in bytes
)

// boundTree cuts a tree down to what can be worked on in seconds.
func boundTree(root *html.Node) {
	b := bounding{room: maxWork}
	b.children(root, place{})
}

type bounding struct{ room int }

// place is where in a tree a node is.
type place struct {
	depth, nesting int
	pre            bool // line breaks count
}

func (b *bounding) children(n *html.Node, at place) {
	for child := n.FirstChild; child != nil; {
		next := child.NextSibling
		if b.room <= 0 {
			n.RemoveChild(child)
			child = next
			continue
		}
		in := at
		in.depth++
		switch child.Type { //nolint:exhaustive // the others hold no text
		case html.TextNode:
			lines := 1
			if at.pre {
				lines += strings.Count(child.Data, "\n")
			}
			b.text(child, lines, in.depth)
		case html.ElementNode:
			b.room -= nodeWork * in.depth
			if isNested(child.DataAtom) {
				if in.nesting++; in.nesting > maxNesting {
					flatten(child)
				}
			}
			in.pre = at.pre || child.DataAtom == atom.Pre
			if in.depth > maxDepth && hasElement(child) {
				next = open(child)
				child = next
				continue
			}
			b.children(child, in)
		}
		child = next
	}
}

// text takes the work of a text off what there is, and cuts the last one that fits.
func (b *bounding) text(n *html.Node, lines, depth int) {
	b.room -= (nodeWork*lines + len(n.Data)) * depth
	if over := -b.room / depth; over > 0 {
		n.Data = strings.ToValidUTF8(n.Data[:max(len(n.Data)-over, 0)], "")
	}
}

// open puts the children of an element in its place, with line breaks around them.
// It returns the first of them.
func open(n *html.Node) *html.Node {
	parent, first := n.Parent, n.FirstChild
	if isBlock(n.DataAtom) {
		parent.InsertBefore(&html.Node{Type: html.ElementNode, DataAtom: atom.Br, Data: "br"}, n)
	}
	for child := n.FirstChild; child != nil; child = n.FirstChild {
		n.RemoveChild(child)
		parent.InsertBefore(child, n)
	}
	parent.RemoveChild(n)
	return first
}

func hasElement(n *html.Node) bool {
	for child := range n.ChildNodes() {
		if child.Type == html.ElementNode {
			return true
		}
	}
	return false
}

// isNested reports whether an element puts a sign or a space before every line in it.
func isNested(name atom.Atom) bool {
	switch name { //nolint:exhaustive // only these
	case atom.Blockquote, atom.Ul, atom.Ol, atom.Menu, atom.Dir, atom.Li, atom.Dl, atom.Dd, atom.Table:
		return true
	}
	return false
}

// isBlock reports whether an element stands on lines of its own.
func isBlock(name atom.Atom) bool {
	switch name { //nolint:exhaustive // only these
	case atom.Div, atom.P, atom.Section, atom.Article, atom.Pre, atom.Tr, atom.Dt, atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		return true
	}
	return isNested(name)
}
