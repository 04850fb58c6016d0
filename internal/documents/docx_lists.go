package documents

import (
	"regexp"
	"strconv"
	"strings"
)

const bullet = "-"

// plainNumber matches the markers that Markdown knows.
var plainNumber = regexp.MustCompile(`^\d{1,9}[.)]$`)

// wordNumber places a paragraph in a list.
type wordNumber struct {
	id    string // "" for none
	level int
}

func numberOf(numPr *node) wordNumber {
	n := wordNumber{id: numPr.child("numId").attr("val"), level: numPr.child("ilvl").number("val", 0)}
	if n.id == "0" || n.level < 0 || n.level > 8 {
		return wordNumber{}
	}
	return n
}

// wordLists counts the items of the lists of a document.
type wordLists struct {
	abstract map[string]string   // of a list
	levels   map[string][9]*node // of an abstract one
	counts   map[string]*[9]int  // by abstract list: several share their numbers
	starts   map[string]bool     // lists that were begun
}

func readWordLists(root *node) *wordLists {
	l := &wordLists{abstract: map[string]string{}, levels: map[string][9]*node{}, counts: map[string]*[9]int{}, starts: map[string]bool{}}
	for _, a := range root.all("abstractNum") {
		var levels [9]*node
		for _, lvl := range a.all("lvl") {
			if i := lvl.number("ilvl", -1); i >= 0 && i < 9 {
				levels[i] = lvl
			}
		}
		l.levels[a.attr("abstractNumId")] = levels
	}
	for _, n := range root.all("num") {
		l.abstract[n.attr("numId")] = n.child("abstractNumId").attr("val")
		if len(n.all("lvlOverride")) > 0 { // it counts from the beginning
			l.starts[n.attr("numId")] = true
		}
	}
	return l
}

// next is the marker of the next item, "" outside of lists, and how deep it is.
func (l *wordLists) next(n wordNumber) (marker string, depth int) {
	if n.id == "" {
		return "", 0
	}
	id, known := l.abstract[n.id]
	if !known {
		return bullet, n.level
	}
	counts := l.counts[id]
	if counts == nil || l.starts[n.id] {
		counts = &[9]int{}
		l.counts[id] = counts
		delete(l.starts, n.id)
	}
	levels := l.levels[id]
	counts[n.level]++
	for deeper := n.level + 1; deeper < len(counts); deeper++ {
		counts[deeper] = 0
	}
	lvl := levels[n.level]
	if lvl == nil || lvl.child("numFmt").attr("val") == "bullet" {
		return bullet, n.level
	}
	text := lvl.child("lvlText").attr("val")
	for i, above := range levels[:n.level+1] {
		text = strings.ReplaceAll(text, "%"+strconv.Itoa(i+1), counted(above, counts[i]))
	}
	return strings.TrimSpace(text), n.level
}

// counted is the n-th number of a level, as it is written there.
func counted(lvl *node, n int) string {
	if lvl == nil {
		return strconv.Itoa(max(n, 1))
	}
	n = max(n, 1) + lvl.child("start").number("val", 1) - 1
	switch lvl.child("numFmt").attr("val") {
	case "lowerLetter":
		return letters(n)
	case "upperLetter":
		return strings.ToUpper(letters(n))
	case "lowerRoman":
		return strings.ToLower(roman(n))
	case "upperRoman":
		return roman(n)
	case "none":
		return ""
	}
	return strconv.Itoa(n)
}

// letters is a, b, ..., z, aa, bb, as Word counts.
func letters(n int) string {
	if n < 1 {
		return strconv.Itoa(n)
	}
	return strings.Repeat(string(rune('a'+(n-1)%26)), min((n-1)/26+1, 10))
}

func roman(n int) string {
	if n < 1 || n > 3999 {
		return strconv.Itoa(n)
	}
	var b strings.Builder
	for _, r := range []struct {
		value int
		text  string
	}{
		{1000, "M"},
		{900, "CM"},
		{500, "D"},
		{400, "CD"},
		{100, "C"},
		{90, "XC"},
		{50, "L"},
		{40, "XL"},
		{10, "X"},
		{9, "IX"},
		{5, "V"},
		{4, "IV"},
		{1, "I"},
	} {
		for ; n >= r.value; n -= r.value {
			b.WriteString(r.text)
		}
	}
	return b.String()
}
