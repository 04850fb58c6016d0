package testkit

import (
	"archive/zip"
	"bytes"
	"encoding/xml"
	"fmt"
	"slices"
	"strings"
)

// PDF makes a PDF document of pages of ASCII text. A line that begins with "# "
// is set large, as a heading is.
func PDF(pages ...string) []byte {
	var b bytes.Buffer
	var offsets []int
	object := func(format string, args ...any) {
		offsets = append(offsets, b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n", len(offsets))
		fmt.Fprintf(&b, format, args...)
		b.WriteString("\nendobj\n")
	}
	b.WriteString("%PDF-1.4\n")
	object("<< /Type /Catalog /Pages 2 0 R >>")
	kids := make([]string, 0, len(pages))
	for i := range pages {
		kids = append(kids, fmt.Sprintf("%d 0 R", 4+2*i))
	}
	object("<< /Type /Pages /Kids [%s] /Count %d >>", strings.Join(kids, " "), len(pages))
	object("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>")
	for i, page := range pages {
		content := pdfContent(page)
		object("<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 3 0 R >> >> /Contents %d 0 R >>", 5+2*i)
		object("<< /Length %d >>\nstream\n%s\nendstream", len(content), content)
	}
	start := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(offsets)+1)
	for _, at := range offsets {
		fmt.Fprintf(&b, "%010d 00000 n \n", at)
	}
	fmt.Fprintf(&b, "trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n", len(offsets)+1, start)
	return b.Bytes()
}

// pdfContent draws the lines of a page from its top.
func pdfContent(page string) string {
	var b strings.Builder
	y := 740
	for line := range strings.SplitSeq(page, "\n") {
		size := 11
		if title, ok := strings.CutPrefix(line, "# "); ok {
			line, size = title, 20
		}
		text := strings.NewReplacer(`\`, `\\`, `(`, `\(`, `)`, `\)`).Replace(line)
		fmt.Fprintf(&b, "BT /F1 %d Tf 72 %d Td (%s) Tj ET\n", size, y, text)
		y -= size + 6
	}
	return b.String()
}

// Docx makes a Word document of paragraphs. One that begins with "# " is a
// heading.
func Docx(paragraphs ...string) []byte {
	var b strings.Builder
	for _, p := range paragraphs {
		style := ""
		if title, ok := strings.CutPrefix(p, "# "); ok {
			p, style = title, `<w:pPr><w:pStyle w:val="H1"/></w:pPr>`
		}
		var text bytes.Buffer
		_ = xml.EscapeText(&text, []byte(p)) // a buffer takes everything
		b.WriteString("<w:p>" + style + "<w:r><w:t>" + text.String() + "</w:t></w:r></w:p>")
	}
	return DocxOf(b.String(), map[string]string{
		"styles": `<w:styles` + wordSpaces + `><w:style w:styleId="H1"><w:name w:val="heading 1"/></w:style></w:styles>`,
	})
}

const wordSpaces = ` xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"` +
	` xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"` +
	` xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"` +
	` xmlns:wp="http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing"`

// DocxOf makes a Word document of the XML in its body and of further parts, such
// as "styles"; one of another name is an address that the body links to.
func DocxOf(body string, parts map[string]string) []byte {
	files := map[string]string{
		"_rels/.rels": `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">` +
			`<Relationship Id="r1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="word/document.xml"/></Relationships>`,
		"word/document.xml": `<?xml version="1.0" encoding="UTF-8"?><w:document` + wordSpaces + `><w:body>` + body + `</w:body></w:document>`,
	}
	var relations strings.Builder
	for name, content := range parts {
		if strings.Contains(content, "://") && !strings.HasPrefix(content, "<") {
			fmt.Fprintf(&relations, `<Relationship Id="%s" Type="x/hyperlink" Target="%s" TargetMode="External"/>`, name, content)
			continue
		}
		fmt.Fprintf(&relations, `<Relationship Id="%s" Type="x/%s" Target="%s.xml"/>`, name, name, name)
		files["word/"+name+".xml"] = strings.Replace(content, "WORD", wordSpaces, 1)
	}
	files["word/_rels/document.xml.rels"] = `<Relationships>` + relations.String() + `</Relationships>`
	return Zip(files)
}

// Zip packs files.
func Zip(files map[string]string) []byte {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	names := make([]string, 0, len(files))
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		w, err := z.Create(name)
		if err == nil {
			_, err = w.Write([]byte(files[name]))
		}
		if err != nil {
			panic(err) // a buffer takes everything
		}
	}
	if err := z.Close(); err != nil {
		panic(err)
	}
	return b.Bytes()
}
