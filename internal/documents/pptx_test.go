package documents

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"deerflow/internal/testkit"
)

const slideSpaces = ` xmlns:a="a" xmlns:p="p" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"`

func shape(kind, paragraphs string) string {
	ph := ""
	if kind != "" {
		ph = `<p:ph type="` + kind + `"/>`
	}
	if kind == "body" {
		ph = `<p:ph idx="1"/>`
	}
	return `<p:sp><p:nvSpPr><p:cNvPr id="2" name="x"/><p:nvPr>` + ph + `</p:nvPr></p:nvSpPr><p:txBody>` + paragraphs + `</p:txBody></p:sp>`
}

func ap(level int, text string) string {
	return fmt.Sprintf(`<a:p><a:pPr lvl="%d"/><a:r><a:t>%s</a:t></a:r></a:p>`, level, text)
}

func deck(slides ...string) []byte {
	files := map[string]string{"_rels/.rels": `<Relationships><Relationship Id="x" Type="t/officeDocument" Target="/ppt/presentation.xml"/></Relationships>`}
	ids, relations := "", ""
	for i, s := range slides {
		n := i + 1
		ids += fmt.Sprintf(`<p:sldId id="%d" r:id="rId%d"/>`, 255+n, n)
		relations += fmt.Sprintf(`<Relationship Id="rId%d" Type="t/slide" Target="slides/slide%d.xml"/>`, n, n)
		files[fmt.Sprintf("ppt/slides/slide%d.xml", n)] = s
	}
	files["ppt/presentation.xml"] = `<p:presentation` + slideSpaces + `><p:sldIdLst>` + ids + `</p:sldIdLst></p:presentation>`
	files["ppt/_rels/presentation.xml.rels"] = `<Relationships>` + relations + `</Relationships>`
	files["ppt/slides/_rels/slide1.xml.rels"] = `<Relationships><Relationship Id="n" Type="t/notesSlide" Target="../notesSlides/n1.xml"/>` +
		`<Relationship Id="l" Type="t/hyperlink" Target="https://example.com" TargetMode="External"/></Relationships>`
	files["ppt/notesSlides/n1.xml"] = `<p:notes` + slideSpaces + `><p:cSld><p:spTree>` + shape("body", ap(0, "say this")) + shape("sldNum", ap(0, "1")) + `</p:spTree></p:cSld></p:notes>`
	return testkit.Zip(files)
}

func sld(attrs, shapes string) string {
	return `<p:sld` + slideSpaces + attrs + `><p:cSld><p:spTree>` + shapes + `</p:spTree></p:cSld></p:sld>`
}

func TestPptx(t *testing.T) {
	t.Parallel()
	cell := func(s string) string { return `<a:tc><a:txBody>` + ap(0, s) + `</a:txBody></a:tc>` }
	data := deck(
		sld("", shape("title", ap(0, "Big")+ap(0, "Plans"))+shape("body", ap(0, "first")+ap(1, "below")+`<a:p/>`)+shape("sldNum", ap(0, "7"))+
			shape("", `<a:p><a:r><a:rPr><a:hlinkClick r:id="l"/></a:rPr><a:t>site</a:t></a:r><a:br/><a:r><a:t>end</a:t></a:r></a:p>`)),
		sld(` show="0"`, `<p:graphicFrame><a:graphic><a:graphicData><a:tbl><a:tr>`+cell("h1")+cell("h2")+`</a:tr><a:tr>`+cell("1")+cell("2")+`</a:tr></a:tbl></a:graphicData></a:graphic></p:graphicFrame>`+
			`<p:pic><p:nvPicPr><p:cNvPr id="1" descr="A map"/></p:nvPicPr></p:pic><p:grpSp>`+shape("", ap(0, "grouped"))+`</p:grpSp>`),
	)
	doc, err := convert(t, "a.pptx", data)
	require.NoError(t, err)
	require.Equal(t, 2, doc.Pages)
	require.Equal(t, `## Slide 1: Big Plans

- first
  - below

[site](https://example.com)
end

Notes: say this

## Slide 2 (hidden)

| h1 | h2 |
| --- | --- |
| 1 | 2 |

[image: A map]

grouped
`, doc.Markdown)
	require.Contains(t, reason(t, "a.pptx", deck(sld("", "<p:sp>"))), "damaged")
}
