package web

import (
	"bytes"
	"mime"
	"net/http"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
)

// form is how a body is read.
type form int

const (
	formBinary form = iota
	formHTML
	formText
	formDocument
)

// contentType is what a body is.
type contentType struct {
	Type      string // "text/html", without parameters
	header    string // with them
	form      form
	document  string // what to call a document
	extension string // of a document's name
}

// documentTypes are the documents that can be turned into text.
var documentTypes = map[string]contentType{
	"application/pdf": {document: "PDF", extension: ".pdf"},
	"application/vnd.openxmlformats-officedocument.wordprocessingml.document":   {document: "Word document", extension: ".docx"},
	"application/vnd.openxmlformats-officedocument.presentationml.presentation": {document: "PowerPoint presentation", extension: ".pptx"},
	"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet":         {document: "Excel workbook", extension: ".xlsx"},
}

// contentOf tells what a body is by its header, or by its first bytes where the
// header says nothing.
func contentOf(header string, body []byte) contentType {
	kind, _, err := mime.ParseMediaType(header)
	if err != nil || kind == "application/octet-stream" || kind == "binary/octet-stream" {
		kind, _, _ = mime.ParseMediaType(http.DetectContentType(body)) // which is always valid
		header = kind                                                  // the character set in it is a guess
	}
	if c, ok := documentTypes[kind]; ok {
		c.Type, c.header, c.form = kind, header, formDocument
		return c
	}
	c := contentType{Type: kind, header: header}
	switch {
	case kind == "text/html" || kind == "application/xhtml+xml":
		c.form = formHTML
	case isText(kind) && !bytes.Contains(body[:min(len(body), 512)], []byte{0}):
		c.form = formText
	case isText(kind) && strings.Contains(strings.ToLower(header), "utf-16"):
		c.form = formText
	}
	return c
}

func isText(kind string) bool {
	if strings.HasPrefix(kind, "text/") || strings.HasSuffix(kind, "+json") || strings.HasSuffix(kind, "+xml") && kind != "image/svg+xml" {
		return true
	}
	switch kind {
	case "application/json", "application/xml", "application/yaml", "application/x-yaml", "application/toml", "application/javascript",
		"application/x-ndjson", "application/x-sh", "application/x-tex", "application/sql":
		return true
	}
	return false
}

// decode gives a text in UTF-8, by the character set of the header, the mark at its
// beginning or what the page says of itself. A text without any of these that is
// valid UTF-8 is just that.
func (c contentType) decode(body []byte) []byte {
	encoding, name, certain := charset.DetermineEncoding(body[:min(len(body), 1024)], c.header)
	if name != "utf-8" && (certain || !utf8.Valid(body) || name == "iso-2022-jp") {
		if decoded, err := encoding.NewDecoder().Bytes(body); err == nil {
			body = decoded
		}
	}
	return bytes.TrimPrefix(bytes.ToValidUTF8(body, []byte("\uFFFD")), []byte("\uFEFF"))
}
