package web

import (
	"bytes"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Bounds of elements that give a text its form. One that is not closed is opened
// again by the parser in every paragraph behind it: a few characters of HTML can
// ask for millions of elements.
const (
	maxFormats  = 8         // open at once; further ones are left out
	maxReopened = 1_000_000 // elements that may come of it; what comes behind is left out
)

// parseHTML is the tree of a page, of a size and depth that can be worked on.
func parseHTML(source []byte) (*html.Node, error) {
	root, err := html.Parse(bytes.NewReader(fewFormats(source)))
	if err != nil {
		return nil, err
	}
	boundTree(root)
	return root, nil
}

// fewFormats leaves out of a page the tags that open more elements of form than
// the bounds allow. Nearly all pages stay as they are.
func fewFormats(source []byte) []byte {
	out := make([]byte, 0, len(source))
	tokens := html.NewTokenizer(bytes.NewReader(source))
	f := formats{opened: map[atom.Atom]int{}, dropped: map[atom.Atom]int{}}
	reopened := 0
	for {
		kind := tokens.Next()
		raw := tokens.Raw()
		if kind == html.ErrorToken {
			return append(out, raw...)
		}
		if reopened += f.open; reopened > maxReopened {
			return out
		}
		kept := len(out)
		out = append(out, raw...) // before the name is read, which makes it lower case
		name, _ := tokens.TagName()
		if format := atom.Lookup(name); isFormat(format) && !f.tag(format, kind != html.EndTagToken) {
			out = out[:kept]
		}
	}
}

// formats counts the elements of form that are open, by their names.
type formats struct {
	opened, dropped map[atom.Atom]int
	open            int
}

// tag counts a tag, and reports whether it stays.
func (f *formats) tag(name atom.Atom, opens bool) bool {
	switch {
	case !opens && f.dropped[name] > 0:
		f.dropped[name]--
		return false
	case !opens && f.opened[name] > 0:
		f.opened[name]--
		f.open--
	case !opens:
	case (name == atom.A || name == atom.Nobr) && f.opened[name] > 0: // it closes the one before
	case f.open >= maxFormats && name != atom.A:
		f.dropped[name]++
		return false
	default:
		f.opened[name]++
		f.open++
	}
	return true
}

func isFormat(name atom.Atom) bool {
	switch name { //nolint:exhaustive // those that HTML calls formatting elements
	case atom.A, atom.B, atom.Big, atom.Code, atom.Em, atom.Font, atom.I, atom.Nobr, atom.S, atom.Small, atom.Strike,
		atom.Strong, atom.Tt, atom.U:
		return true
	}
	return false
}
