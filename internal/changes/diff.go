package changes

import (
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"deerflow/internal/sandbox"
)

// contextLines is how many lines around a change a diff shows.
const contextLines = 3

// diff adds the diff of a change, or why there is none.
func (c *comparison) diff(f *File, before, after *sandbox.Surveyed) {
	if f.Sensitive {
		f.NoDiff = NoDiffSensitive
		return
	}
	old, hadOld := c.side(before, c.oldText)
	now, hadNow := c.side(after, c.newText)
	switch {
	case f.Binary:
		f.NoDiff = NoDiffBinary
		return
	case !hadOld || !hadNow:
		f.NoDiff = NoDiffLarge
		return
	case !isText(old) || !isText(now):
		f.Binary, f.NoDiff = true, NoDiffBinary
		return
	}
	unified, err := udiff.ToUnified(name("a", f.Path, before), name("b", f.Path, after), old, udiff.Lines(old, now), contextLines)
	if err != nil {
		f.NoDiff = NoDiffLarge
		return
	}
	f.Additions, f.Deletions = countLines(unified)
	switch {
	case len(unified) > MaxDiff:
		f.NoDiff = NoDiffLarge
	case c.diffed+len(unified) > MaxDiffTotal:
		f.NoDiff = NoDiffTruncated
	default:
		f.Diff = unified
		c.diffed += len(unified)
	}
}

// side is one of the two texts. A file that is not there has the empty one, a link
// that of its target.
func (c *comparison) side(s *sandbox.Surveyed, texts Texts) (string, bool) {
	switch {
	case s == nil:
		return "", true
	case s.Link != "":
		return s.Link + "\n", true
	case s.Size == 0:
		return "", true
	}
	return texts(s.Hash)
}

func name(side, path string, s *sandbox.Surveyed) string {
	if s == nil {
		return "/dev/null"
	}
	return side + path
}

// countLines counts what a unified diff adds and removes.
func countLines(unified string) (added, removed int) {
	inHunk := false
	for line := range strings.Lines(unified) {
		switch {
		case strings.HasPrefix(line, "@@"):
			inHunk = true
		case !inHunk:
		case line[0] == '+':
			added++
		case line[0] == '-':
			removed++
		}
	}
	return added, removed
}
