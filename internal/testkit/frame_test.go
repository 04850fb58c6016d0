package testkit

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
)

// short is a frame without its time.
type short struct{ id, event, data string }

// frames reads all frames of text and the error that ended them.
func frames(r io.Reader) ([]short, *FrameReader, error) {
	reader := NewFrameReader(r)
	var list []short
	for {
		frame, err := reader.Read()
		if err != nil {
			return list, reader, err
		}
		list = append(list, short{frame.ID, frame.Event, frame.Data})
	}
}

func TestFrameReader(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		in   string
		want []short
		end  error
	}{
		"our order": {
			"event: metadata\ndata: {\"a\":1}\nid: 1-0\n\nevent: end\ndata: null\n\n",
			[]short{{"1-0", "metadata", `{"a":1}`}, {"1-0", "end", "null"}},
			io.EOF,
		},
		"no name":               {"data: x\n\n", []short{{"", "message", "x"}}, io.EOF},
		"no space":              {"data:x\nid:7\n\n", []short{{"7", "message", "x"}}, io.EOF},
		"one space only":        {"data:  x\n\n", []short{{"", "message", " x"}}, io.EOF},
		"colon in data":         {"data: a: b\n\n", []short{{"", "message", "a: b"}}, io.EOF},
		"two data lines":        {"data: {\ndata: }\n\n", []short{{"", "message", "{\n}"}}, io.EOF},
		"empty data":            {"data\n\ndata:\n\n", []short{{"", "message", ""}, {"", "message", ""}}, io.EOF},
		"no data is no event":   {"event: x\nid: 3\n\ndata: y\n\n", []short{{"3", "message", "y"}}, io.EOF},
		"CRLF":                  {"event: a\r\ndata: x\r\n\r\ndata: y\r\n\r\n", []short{{"", "a", "x"}, {"", "message", "y"}}, io.EOF},
		"CR":                    {"data: x\r\rdata: y\r\r", []short{{"", "message", "x"}, {"", "message", "y"}}, io.EOF},
		"BOM":                   {"\uFEFFdata: x\n\n", []short{{"", "message", "x"}}, io.EOF},
		"unknown field, retry":  {"retry: 3\nfoo: 1\ndata: x\n\n", []short{{"", "message", "x"}}, io.EOF},
		"NUL in id":             {"id: 1\ndata: x\n\nid: a\x00\ndata: y\n\n", []short{{"1", "message", "x"}, {"1", "message", "y"}}, io.EOF},
		"empty id resets":       {"id: 1\ndata: x\n\nid\ndata: y\n\n", []short{{"1", "message", "x"}, {"", "message", "y"}}, io.EOF},
		"comments":              {": hb\n\n: hb\n\ndata: x\n\n:\n\n", []short{{"", "message", "x"}}, io.EOF},
		"nothing":               {"", nil, io.EOF},
		"cut in a line":         {"data: x\n\ndata: y", []short{{"", "message", "x"}}, io.ErrUnexpectedEOF},
		"cut ahead of the end":  {"data: x\n", nil, io.ErrUnexpectedEOF},
		"cut after a comment":   {"data: x\n\n: hb\n", []short{{"", "message", "x"}}, io.EOF},
		"blank lines are legal": {"\n\n\ndata: x\n\n\n", []short{{"", "message", "x"}}, io.EOF},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, _, err := frames(strings.NewReader(c.in))
			require.Equal(t, c.want, got)
			require.Equal(t, c.end, err)
		})
	}
}

func TestFrameReaderCounts(t *testing.T) {
	t.Parallel()
	const text = ": hb\n\ndata: x\n\n: hb\n\n"
	_, reader, err := frames(strings.NewReader(text))
	require.Equal(t, io.EOF, err)
	require.EqualValues(t, 2, reader.comments.Load())
	require.EqualValues(t, len(text), reader.bytes.Load())
}

func TestFrameReaderPassesErrorsOn(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	_, _, err := frames(io.MultiReader(strings.NewReader("data: x\n"), iotest.ErrReader(broken)))
	require.ErrorIs(t, err, broken)
}

func TestFrameDecode(t *testing.T) {
	t.Parallel()
	var v struct{ A int }
	require.NoError(t, Frame{Data: `{"a":3}`}.Decode(&v))
	require.Equal(t, 3, v.A)
	require.ErrorContains(t, Frame{Event: "values", ID: "4", Data: "x"}.Decode(&v), `the values frame "4"`)
}

// FuzzFrameReader checks that the bounds of reads change nothing and that line
// ends are interchangeable.
func FuzzFrameReader(f *testing.F) {
	f.Add("event: a\ndata: x\nid: 1\n\n: hb\n\ndata: y\n\n")
	f.Add("\uFEFFdata:\r\n\r\rid\n\n")
	f.Fuzz(func(t *testing.T, text string) {
		want, _, wantErr := frames(strings.NewReader(text))
		got, _, err := frames(iotest.OneByteReader(strings.NewReader(text)))
		require.Equal(t, want, got)
		require.Equal(t, wantErr, err)
		if !strings.Contains(text, "\r") {
			got, _, err = frames(strings.NewReader(strings.ReplaceAll(text, "\n", "\r\n")))
			require.Equal(t, want, got)
			require.Equal(t, wantErr, err)
		}
	})
}
