package cases

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	. "deerflow/internal/testkit"
)

func TestUploadWithABrokenPartHeader(t *testing.T) {
	p := StartDev(t, DevOptions{})
	id := newThread(t, p.API())
	body := "--b\r\nContent-Disposition: form-data; name=\"files\"; filename=\"\x01\"\r\n\r\nx\r\n--b--\r\n"
	code, out := post(t, p, "/api/threads/"+id+"/uploads", "multipart/form-data; boundary=b", strings.NewReader(body), nil)
	require.Equal(t, 400, code, out)
}
