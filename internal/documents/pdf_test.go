package documents

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"deerflow/internal/testkit"
)

func TestPDF(t *testing.T) {
	t.Parallel()
	page := "# Findings\nThe first line of the report says what it is about.\n# Items: 3 (three)\n1. one\n\nLast \\ line"
	doc, err := convert(t, "a.pdf", testkit.PDF("# The Report\n"+strings.Repeat("Some words of an ordinary line of text.\n", 5), page))
	require.NoError(t, err)
	require.Equal(t, 2, doc.Pages)
	require.Empty(t, doc.Warning)
	require.Equal(t, "<!-- page 1 -->\n\n# The Report\n\n"+strings.Repeat("Some words of an ordinary line of text.\n", 5)+
		"\n<!-- page 2 -->\n\n# Findings\n\nThe first line of the report says what it is about.\n\n# Items: 3 (three)\n\n1. one\nLast \\ line\n", doc.Markdown)
}

// Pages with hardly any text are pictures of text.
func TestAScannedPDFIsSaidToBeOne(t *testing.T) {
	t.Parallel()
	doc, err := convert(t, "a.pdf", testkit.PDF("1", "2", ""))
	require.NoError(t, err)
	require.Contains(t, doc.Warning, "hardly any text on its 3 pages")
	require.True(t, strings.HasPrefix(doc.Markdown, "> "+doc.Warning+"\n"))
	doc, err = convert(t, "a.pdf", testkit.PDF(strings.Repeat("x", 50)))
	require.NoError(t, err)
	require.Empty(t, doc.Warning)
	doc, err = convert(t, "a.pdf", testkit.PDF(strings.Repeat("x", 49)))
	require.NoError(t, err)
	require.Contains(t, doc.Warning, "hardly any text on its one page: it is probably scanned")
}

// A short page in Chinese says as much as a longer one in English.
func TestDenseScriptsNeedFewerLetters(t *testing.T) {
	t.Parallel()
	require.Equal(t, 49, weight(strings.Repeat("x ", 49)))
	for _, page := range []string{"第三季度收入增长百分之十二，主要来自亚洲市场；成本下降百分之三。", "第三四半期の売上は前年同期より十二％増え、費用は三％減りました。", "삼분기 매출은 작년보다 십이 퍼센트 늘었고 비용은 삼 퍼센트 줄었습니다."} {
		require.Less(t, len([]rune(page)), sparse)
		require.GreaterOrEqual(t, weight(page), sparse, page)
	}
	require.Less(t, weight("第 3 页，共 12 页"), sparse)
}

func TestBrokenPDFs(t *testing.T) {
	t.Parallel()
	require.Contains(t, reason(t, "a.pdf", []byte("%PDF-1.4\n")), "damaged")
	good := testkit.PDF("# The Report\nwith enough text on its page to be no scan at all, as one sees")
	// What can be found without the table of objects is found.
	require.Contains(t, text(t, "a.pdf", bytes.Replace(good, []byte("startxref\n"), []byte("startxref\n9"), 1)), "The Report")
	_, err := convert(t, "a.pdf", good[:len(good)/2])
	if err != nil {
		var fault *ConversionError
		require.ErrorAs(t, err, &fault)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = Convert(ctx, "a.pdf", bytes.NewReader(good), int64(len(good)), Options{CacheDir: cache})
	require.ErrorIs(t, err, context.Canceled)
}

func TestLinesOfAPage(t *testing.T) {
	t.Parallel()
	require.Equal(t, []string{"management of", "lines  x", ""}, pageLines("man\x02\r\nage\ufffe\nment of \rlines\x00  x\n"))
	require.Equal(t, "- item", ordinary(" • item"))
	require.Equal(t, `\# no heading`, ordinary("# no heading"))
	for line, want := range map[string]bool{
		"1 Introduction . . . . . . 1": false, "Chapter ..... 7": false, "Introduction": true, "12.4": false, "a * b": false, "第一章": true, strings.Repeat("x", 161): false,
	} {
		require.Equal(t, want, titleLike(line), line)
	}
}
