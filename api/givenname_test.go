package api

import (
	"mime/multipart"
	"net/textproto"
	"testing"

	"github.com/stretchr/testify/require"

	"deerflow/internal/uploads"
)

// TestI05GivenName reads names as clients put them into the header.
func TestI05GivenName(t *testing.T) {
	t.Parallel()
	const report = "季度报告（终稿）.xlsx"
	const encoded = "%E5%AD%A3%E5%BA%A6%E6%8A%A5%E5%91%8A%EF%BC%88%E7%BB%88%E7%A8%BF%EF%BC%89.xlsx"
	for _, s := range []struct{ params, want string }{
		{`; filename="` + report + `"`, report},
		{`; filename*=UTF-8''` + encoded, report},
		{`; filename="x.xlsx"; filename*=UTF-8''` + encoded, report},
		{`; filename=plain.txt`, "plain.txt"},
		{`; filename="a\"b.txt"`, `a"b.txt`},
		{`; filename="a b;c.txt"`, "a b;c.txt"},
		{`; filename=季度.txt`, "季度.txt"},
		{``, ""},
	} {
		header := `form-data; name="files"` + s.params
		part := &multipart.Part{Header: textproto.MIMEHeader{"Content-Disposition": {header}}}
		require.Equal(t, s.want, uploads.CleanName(givenName(part)), header)
	}
}
