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
	opened, dropped := map[atom.Atom]int{}, map[atom.Atom]int{}
	open, reopened := 0, 0
	for {
		kind := tokens.Next()
		raw := tokens.Raw()
		if kind == html.ErrorToken {
			return append(out, raw...)
		}
		if reopened += open; reopened > maxReopened {
			return out
		}
		var name atom.Atom
		if kind == html.StartTagToken || kind == html.SelfClosingTagToken || kind == html.EndTagToken {
			raw = bytes.Clone(raw) // reading the name changes it to lower case
			tag, _ := tokens.TagName()
			name = atom.Lookup(tag)
		}
		switch {
		case !isFormat(name):
		case kind == html.EndTagToken && dropped[name] > 0:
			dropped[name]--
			continue
		case kind == html.EndTagToken:
			if opened[name] > 0 {
				opened[name]--
				open--
			}
		case (name == atom.A || name == atom.Nobr) && opened[name] > 0: // it closes the one before
		case open >= maxFormats && name != atom.A:
			dropped[name]++
			continue
		default:
			opened[name]++
			open++
		}
		out = append(out, raw...)
	}
}

func isFormat(name atom.Atom) bool {
	switch name { //nolint:exhaustive // those that HTML calls formatting elements
	case atom.A, atom.B, atom.Big, atom.Code, atom.Em, atom.Font, atom.I, atom.Nobr, atom.S, atom.Small, atom.Strike,
		atom.Strong, atom.Tt, atom.U:
		return true
	}
	return false
}
