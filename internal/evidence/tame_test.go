package evidence

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTameLeavesDocumentsAlone(t *testing.T) {
	t.Parallel()
	for _, document := range []string{
		"", "# T\n\nText [a](https://a.org) more.\r\n\r\n> - 1. nested\n\n---\n- - -\n", "no end", "    code\n\n\n> > > deep\n",
		strings.Repeat("[a](https://a.org/x) ", 200), strings.Repeat("鹿", 3000), "1.5 is no item, -5 neither, 12) is\n",
	} {
		require.Equal(t, document, Tame(document, 0))
		if len(document) < 1000 {
			require.Equal(t, document, Tame(document, 1000))
		}
	}
}

func TestTame(t *testing.T) {
	t.Parallel()
	for _, unit := range []string{">", "> ", "- ", "1. ", "* > "} {
		deep := Tame(strings.Repeat(unit, 500)+"end\n", 0)
		require.LessOrEqual(t, strings.Count(deep, unit), maxNesting, unit)
		require.True(t, strings.HasSuffix(deep, "end\n"))
	}
	for word := range strings.FieldsSeq(Tame(strings.Repeat("[a](", 1000), 0)) {
		require.LessOrEqual(t, strings.Count(word, "]("), maxInWord)
	}
	for _, document := range []string{strings.Repeat("word ", 1000), strings.Repeat("鹿", 2000), strings.Repeat("a line of text\n", 400)} {
		tamed := Tame(document, 100)
		for block := range strings.SplitSeq(tamed, "\n\n") {
			require.LessOrEqual(t, len(block), 101)
		}
		strip := strings.NewReplacer(" ", "", "\n", "")
		require.Equal(t, strip.Replace(document), strip.Replace(tamed), "nothing is lost")
	}
	list := Citations(strings.Repeat("x", 3*maxParagraph) + " [a](https://a.org/1)\n" + strings.Repeat("some text, ", maxParagraph/5) + "[b](https://b.org)")
	require.Equal(t, []string{"link a.org/1 a", "link b.org b"}, forms(list))
}

// Whatever a document is made of, reading it takes a time that grows with its
// length: these take minutes otherwise.
func TestReadingTakesNoLongerForOddDocuments(t *testing.T) {
	t.Parallel()
	for _, unit := range []string{
		">", "> ", "> - ", "1. ", "[a](", "[a](<b", "![", "[", "*_a", "**a*", "`a``b", "[a]: b \"c\n", "|a", "<a b=\"", "[^1]", "~~a", "&a;", "a|\n-|\n",
	} {
		Citations(strings.Repeat(unit, maxDocument/len(unit)/2))
	}
}
