package api

import (
	"mime"
	"net/http"
	"path"
	"strings"
)

// mediaTypes says under which type a file is served. The machine's own table is
// not asked: it differs from host to host. Source code is plain text, so that
// no page can load it as a script.
func mediaTypes() map[string]string {
	return map[string]string{
		".html": "text/html; charset=utf-8", ".htm": "text/html; charset=utf-8", ".xhtml": "application/xhtml+xml",
		".svg": "image/svg+xml", ".xml": "application/xml",
		".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp",
		".avif": "image/avif", ".bmp": "image/bmp", ".ico": "image/x-icon",
		".mp3": "audio/mpeg", ".wav": "audio/wav", ".ogg": "audio/ogg", ".m4a": "audio/mp4", ".flac": "audio/flac",
		".mp4": "video/mp4", ".webm": "video/webm", ".mov": "video/quicktime",
		".pdf": "application/pdf", ".json": "application/json", ".zip": "application/zip", ".skill": "application/zip",
		".md": "text/markdown; charset=utf-8", ".csv": "text/csv; charset=utf-8", ".css": "text/css; charset=utf-8",
		".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
		".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
		".pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
	}
}

const (
	plainText = "text/plain; charset=utf-8"
	rawBytes  = "application/octet-stream"
)

// mediaType is the type of a file by its name, else by its first bytes: text or
// just bytes.
func mediaType(name string, head []byte) string {
	if t, ok := mediaTypes()[strings.ToLower(path.Ext(name))]; ok {
		return t
	}
	if strings.HasPrefix(http.DetectContentType(head), "text/") {
		return plainText
	}
	return rawBytes
}

// isActive tells types that a browser would run: they are only given as a
// download (I09).
func isActive(mediaType string) bool {
	kind, _, err := mime.ParseMediaType(mediaType)
	return err != nil || kind == "text/html" || kind == "text/xml" || kind == "application/xml" || strings.HasSuffix(kind, "+xml")
}

// disposition writes a Content-Disposition whose name is right in every script
// (I05): plain ASCII for old clients, then the whole name.
func disposition(kind, name string) string {
	ascii := strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' || r == '"' || r == '\\' {
			return '_'
		}
		return r
	}, name)
	return kind + `; filename="` + ascii + `"; filename*=UTF-8''` + encodeExtValue(name)
}

// encodeExtValue percent-encodes what RFC 8187 does not allow as it is.
func encodeExtValue(s string) string {
	const hex = "0123456789ABCDEF"
	const plain = "!#$&+-.^_`|~"
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte(plain, c) >= 0 {
			b.WriteByte(c)
			continue
		}
		b.WriteByte('%')
		b.WriteByte(hex[c>>4])
		b.WriteByte(hex[c&15])
	}
	return b.String()
}
