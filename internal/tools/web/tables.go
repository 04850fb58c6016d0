package web

import (
	"strconv"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Bounds of the tables of a page: a few characters of HTML can ask for millions of
// cells, since a cell may span others and rows are filled up to the longest.
const (
	maxCells = 200_000 // of all tables of a page
	maxSpan  = 100
)

// boundTables cuts the spans of cells, and makes plain blocks of the tables for
// which there is no room.
func boundTables(root *html.Node) {
	room := maxCells
	for n := range root.Descendants() {
		if n.DataAtom != atom.Table {
			continue
		}
		if cells := gridOf(n); cells <= room {
			room -= cells
			continue
		}
		flatten(n)
	}
}

// gridOf is at least the number of cells that a table takes when it is written. It
// cuts the spans on the way.
func gridOf(table *html.Node) int {
	rows, longest, tallest := 0, 0, 1
	for n := range table.Descendants() {
		if n.DataAtom != atom.Tr {
			continue
		}
		rows++
		row := 0
		for cell := range n.ChildNodes() {
			if cell.DataAtom == atom.Td || cell.DataAtom == atom.Th {
				row += span(cell, "colspan")
				tallest = max(tallest, span(cell, "rowspan"))
			}
		}
		longest = max(longest, row)
	}
	// Cells that reach down push those of the rows below to the right.
	return (rows + tallest) * longest * min(tallest, rows+1)
}

// span reads how many columns or rows a cell takes, and cuts the attribute.
func span(cell *html.Node, name string) int {
	for i, a := range cell.Attr {
		if a.Key != name {
			continue
		}
		n, err := strconv.Atoi(a.Val)
		if err != nil || n < 1 || n > maxSpan {
			n = min(max(n, 1), maxSpan)
			cell.Attr[i].Val = strconv.Itoa(n)
		}
		return n
	}
	return 1
}

// flatten makes a block of an element, and of the parts of a table that it has.
func flatten(element *html.Node) {
	parts := element.DataAtom == atom.Table
	element.DataAtom, element.Data = atom.Div, atom.Div.String()
	if !parts {
		return
	}
	var blocks []*html.Node
	for n := range element.Descendants() {
		switch n.DataAtom { //nolint:exhaustive // the parts of a table
		case atom.Table, atom.Thead, atom.Tbody, atom.Tfoot, atom.Tr, atom.Td, atom.Th, atom.Caption:
			blocks = append(blocks, n)
		}
	}
	for _, n := range blocks {
		n.DataAtom, n.Data = atom.Div, atom.Div.String()
	}
}
