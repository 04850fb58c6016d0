package documents

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"deerflow/internal/testkit"
)

const numbering = `<w:numbering WORD>
<w:abstractNum w:abstractNumId="0"><w:lvl w:ilvl="0"><w:numFmt w:val="bullet"/><w:lvlText w:val="o"/></w:lvl></w:abstractNum>
<w:abstractNum w:abstractNumId="1">
 <w:lvl w:ilvl="0"><w:start w:val="1"/><w:numFmt w:val="decimal"/><w:lvlText w:val="%1."/></w:lvl>
 <w:lvl w:ilvl="1"><w:start w:val="1"/><w:numFmt w:val="lowerLetter"/><w:lvlText w:val="(%2)"/></w:lvl></w:abstractNum>
<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num>
<w:num w:numId="2"><w:abstractNumId w:val="1"/></w:num>
<w:num w:numId="3"><w:abstractNumId w:val="1"/><w:lvlOverride w:ilvl="0"><w:startOverride w:val="1"/></w:lvlOverride></w:num>
</w:numbering>`

const styles = `<w:styles WORD>
<w:style w:styleId="berschrift1"><w:name w:val="heading 1"/></w:style>
<w:style w:styleId="Mine"><w:name w:val="My Heading"/><w:basedOn w:val="berschrift2"/></w:style>
<w:style w:styleId="berschrift2"><w:name w:val="Heading 2"/><w:basedOn w:val="berschrift1"/></w:style>
<w:style w:styleId="Loop"><w:name w:val="loop"/><w:basedOn w:val="Loop"/></w:style>
<w:style w:styleId="T"><w:name w:val="Title"/></w:style>
<w:style w:styleId="L"><w:name w:val="List"/><w:pPr><w:numPr><w:numId w:val="1"/></w:numPr></w:pPr></w:style>
</w:styles>`

func p(style, runs string) string {
	return `<w:p><w:pPr><w:pStyle w:val="` + style + `"/></w:pPr>` + runs + `</w:p>`
}

func r(text string) string { return `<w:r><w:t xml:space="preserve">` + text + `</w:t></w:r>` }

func li(num, level, text string) string {
	return `<w:p><w:pPr><w:numPr><w:ilvl w:val="` + level + `"/><w:numId w:val="` + num + `"/></w:numPr></w:pPr>` + r(text) + `</w:p>`
}

func TestDocx(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ body, want string }{
		"nothing":  {"", ""},
		"headings": {p("T", r("Report")) + p("berschrift1", r("One")) + p("Mine", r("Two")) + p("Loop", r("text")), "# Report\n\n# One\n\n## Two\n\ntext\n"},
		"outline level of a paragraph": {
			`<w:p><w:pPr><w:outlineLvl w:val="2"/></w:pPr>` + r("Three") + `</w:p>` + `<w:p><w:pPr><w:outlineLvl w:val="9"/></w:pPr>` + r("text") + `</w:p>`,
			"### Three\n\ntext\n",
		},
		"looks": {
			`<w:p><w:r><w:rPr><w:b/></w:rPr><w:t>Bo</w:t></w:r><w:r><w:rPr><w:b/></w:rPr><w:t xml:space="preserve">ld </w:t></w:r>` +
				r("plain ") + `<w:r><w:rPr><w:i/><w:b w:val="0"/></w:rPr><w:t>slanted</w:t></w:r><w:r><w:rPr><w:vanish/></w:rPr><w:t>hidden</w:t></w:r></w:p>`,
			"**Bold** plain *slanted*\n",
		},
		"text that would be marks": {p("", r("# no heading")) + p("", r("&lt;!-- no comment")), "\\# no heading\n\n\\<!-- no comment\n"},
		"tracked changes":          {`<w:p><w:ins>` + r("kept") + `</w:ins><w:del><w:r><w:delText>gone</w:delText></w:r></w:del></w:p>`, "kept\n"},
		"fields": {
			`<w:p>` + r("see ") + `<w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText>PAGEREF x</w:instrText></w:r>` +
				`<w:r><w:fldChar w:fldCharType="separate"/></w:r>` + r("7") + `<w:r><w:fldChar w:fldCharType="end"/></w:r></w:p>`,
			"see 7\n",
		},
		"lists": {
			p("", r("before")) + li("1", "0", "a") + li("1", "1", "b") + li("2", "0", "first") + li("2", "1", "sub") + li("2", "0", "second") + li("3", "0", "again") + p("L", r("styled")) + li("0", "0", "none"),
			"before\n\n- a\n  - b\n1. first\n  - (a) sub\n2. second\n1. again\n- styled\n\nnone\n",
		},
		"table": {
			`<w:tbl><w:tr><w:tc>` + p("", r("A|B")) + `</w:tc><w:tc>` + p("", r("C")) + p("", r("D")) + `</w:tc></w:tr>` +
				`<w:tr><w:tc><w:tcPr><w:gridSpan w:val="2"/></w:tcPr>` + p("", r("wide")) + `</w:tc></w:tr>` +
				`<w:tr><w:tc><w:tcPr><w:vMerge/></w:tcPr>` + p("", r("dup")) + `</w:tc><w:tc><w:tbl><w:tr><w:tc>` + p("", r("x")) + `</w:tc><w:tc>` + p("", r("y")) + `</w:tc></w:tr></w:tbl></w:tc></w:tr></w:tbl>`,
			"| A\\|B | C<br>D |\n| --- | --- |\n| wide |  |\n|  | x / y |\n",
		},
		"links": {
			`<w:p><w:hyperlink r:id="site">` + r("the site") + `</w:hyperlink><w:hyperlink w:anchor="x">` + r(" here") + `</w:hyperlink><w:hyperlink r:id="bad">` + r(" bad") + `</w:hyperlink></w:p>`,
			"[the site](https://example.com/a) here bad\n",
		},
		"notes": {
			`<w:p>` + r("Text") + `<w:r><w:footnoteReference w:id="2"/></w:r>` + r(" more") + `<w:r><w:endnoteReference w:id="1"/></w:r><w:r><w:footnoteReference w:id="9"/></w:r></w:p>`,
			"Text[^2] more[^e1]\n\n[^2]: a note\n\n[^e1]: at the end\n",
		},
		"pictures and boxes": {
			`<w:p><w:r><w:drawing><wp:docPr descr="A chart of sales"/></w:drawing></w:r><w:r><w:pict><x><w:txbxContent>` + p("", r("in a box")) + `</w:txbxContent></x></w:pict></w:r></w:p>`,
			"[image: A chart of sales]\n\nin a box\n",
		},
		"wrappers": {`<w:sdt><w:sdtContent>` + p("", r("inside")) + `</w:sdtContent></w:sdt><w:sectPr/>`, "inside\n"},
		"formula":  {`<w:p><m:oMath><m:f><m:num><m:r><m:t>a</m:t></m:r></m:num><m:den><m:r><m:t>b</m:t></m:r></m:den></m:f></m:oMath></w:p>`, "(a)/(b)\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := testkit.DocxOf(tc.body, map[string]string{
				"styles": styles, "numbering": numbering, "site": "https://example.com/a", "bad": "https://example.com/a b(c",
				"footnotes": `<w:footnotes WORD><w:footnote w:id="0" w:type="separator">` + p("", r("line")) + `</w:footnote><w:footnote w:id="2">` + p("", r("a note")) + `</w:footnote></w:footnotes>`,
				"endnotes":  `<w:endnotes WORD><w:endnote w:id="1">` + p("", r("at the end")) + `</w:endnote></w:endnotes>`,
			})
			require.Equal(t, tc.want, text(t, "a.docx", data))
		})
	}
	require.Equal(t, "# Head\n\ntext & more\n", text(t, "a.docx", testkit.Docx("# Head", "text & more")))
	require.Equal(t, "text\n", text(t, "a.doc", testkit.Docx("text")), "the content counts, not the name")
}

func TestDocxBounds(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("<w:sdt>", 300) + strings.Repeat("</w:sdt>", 300)
	require.Contains(t, reason(t, "a.docx", testkit.DocxOf(deep, nil)), "deep")
	entity := `<!DOCTYPE d [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;">]><w:document><w:body><w:p/></w:body></w:document>`
	require.Contains(t, reason(t, "a.docx", testkit.Zip(map[string]string{"word/document.xml": entity})), "document type")
	require.Contains(t, reason(t, "a.docx", testkit.DocxOf(p("", r("&b;")), nil)), "damaged")
	require.Contains(t, reason(t, "a.docx", testkit.DocxOf(p("", r("x"))+"<w:p>", nil)), "damaged")
	bomb := testkit.Zip(map[string]string{"word/document.xml": strings.Repeat(" ", 20<<20)})
	require.Less(t, len(bomb), 1<<20)
	require.Contains(t, reason(t, "a.docx", bomb), "times its size")
	many := map[string]string{}
	for i := range maxEntries + 1 {
		many[strings.Repeat("x", i%100)+"/"+strings.Repeat("y", i/100)] = ""
	}
	require.Contains(t, reason(t, "a.docx", testkit.Zip(many)), "parts")
	long := testkit.DocxOf(strings.Repeat(p("", r(strings.Repeat("word ", 2000))), 1000), nil)
	doc, err := convert(t, "a.docx", long)
	require.NoError(t, err)
	require.Less(t, len(doc.Markdown), maxOutput+200)
	require.Contains(t, doc.Markdown[:100], "> The text was cut after 8 MiB.")
}

func TestOtherFiles(t *testing.T) {
	t.Parallel()
	require.Contains(t, reason(t, "a.docx", nil), "empty")
	require.Contains(t, reason(t, "a.docx", []byte("just text")), "no docx document")
	require.Contains(t, reason(t, "a.docx", []byte("PK\x03\x04 broken")), "damaged")
	require.Contains(t, reason(t, "a.xlsx", testkit.Zip(map[string]string{"x": "y"})), "no Office document")
	require.Contains(t, reason(t, "a.doc", []byte(`{\rtf1 text}`)), "save it as .docx")
	old := append([]byte("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"), make([]byte, 1000)...)
	require.Contains(t, reason(t, "a.xls", old), "damaged")
}
