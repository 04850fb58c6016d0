package tools

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"path"
	"regexp"
	"strings"

	"deerflow/internal/agent"
	"deerflow/internal/sandbox"
	"deerflow/internal/thread"
	"deerflow/internal/tools/web"
)

//go:embed web_capture.md
var webCaptureText string

// Bounds of web_capture.
const (
	maxCaptureName = 100   // characters of a file's name before its extension
	maxCaptureTry  = 1000  // names that are tried
	maxWindow      = 10000 // pixels of a side
)

type webCaptureParams struct {
	URL      string `json:"url" jsonschema:"The exact URL of the page, with https:// or http://."`
	Filename string `json:"filename,omitempty" jsonschema:"A name for the picture, without a directory."`
	FullPage bool   `json:"full_page,omitempty" jsonschema:"true takes the whole page, not only what a window shows."`
	Format   string `json:"output_format,omitempty" jsonschema:"The format of the picture: png, jpeg or webp; png unless you say otherwise."`
	Width    int    `json:"viewport_width,omitempty" jsonschema:"The width of the window in pixels."`
	Height   int    `json:"viewport_height,omitempty" jsonschema:"The height of the window in pixels."`
}

func webCapture(make func(web.Options) web.Capturer, o web.Options) (Tool, error) {
	return definition[webCaptureParams]{
		name: "web_capture", description: webCaptureText, class: agent.ClassWrite, key: agent.KeyAll, timeout: webTimeout,
		run: func(ctx context.Context, c Call, p webCaptureParams) (Result, error) {
			return runWebCapture(ctx, make(o), o, c, p)
		},
	}.build()
}

func runWebCapture(ctx context.Context, s web.Capturer, o web.Options, c Call, p webCaptureParams) (Result, error) {
	if c.Env.Sandbox == nil {
		return needsSandbox(), nil
	}
	address, err := web.ParseAddress(p.URL)
	if err != nil {
		return fetchFailed(ctx, o, err)
	}
	shot, err := s.Capture(ctx, web.CaptureRequest{
		URL: address.String(), FullPage: p.FullPage, Format: cmp.Or(choice(strings.Replace(p.Format, "jpg", "jpeg", 1), "png", "jpeg", "webp"), "png"),
		Width: min(max(p.Width, 0), maxWindow), Height: min(max(p.Height, 0), maxWindow),
	})
	if err != nil {
		return fetchFailed(ctx, o, err)
	}
	extension, ok := captureTypes[shot.ContentType]
	if !ok || len(shot.Data) == 0 {
		return failure("No content found: the answer is no picture"), nil
	}
	file, err := saveCapture(ctx, c, captureName(p.Filename, address, c.Env.MessageID), extension, shot.Data)
	if err != nil {
		return fileAnswer(ctx, doingWrite, sandbox.Outputs, err)
	}
	said := fmt.Sprintf("Saved a picture of %s as %s (%s, %d bytes). The user can see it.", address, file, shot.ContentType, len(shot.Data))
	if shot.Warning != "" {
		said += " (warning: " + shot.Warning + ")"
	}
	r := text(said)
	r.State = thread.StateUpdate{Artifacts: []string{file}}
	return r, nil
}

// captureTypes are the formats of pictures with the extension of their files.
var captureTypes = map[string]string{"image/png": ".png", "image/jpeg": ".jpg", "image/webp": ".webp"}

// errTaken refuses to write over a file.
var errTaken = errors.New("the name is taken")

// saveCapture writes a picture under the first free name and says which it is. An
// attempt of the same call that comes later finds the file of the first one.
func saveCapture(ctx context.Context, c Call, name, extension string, data []byte) (string, error) {
	for i := range maxCaptureTry {
		file := path.Join(sandbox.Outputs, name+extension)
		if i > 0 {
			file = path.Join(sandbox.Outputs, fmt.Sprintf("%s-%d%s", name, i, extension))
		}
		_, err := c.Env.Sandbox.WriteFile(ctx, file, bytes.NewReader(data), sandbox.WriteOptions{
			Key: captureKey(c, file), Check: func(string) error { return errTaken },
		})
		if !errors.Is(err, errTaken) {
			return file, err
		}
	}
	return "", errTaken
}

// captureKey makes each name a write of its own: a call that comes again passes the
// names that others had, and finds the one it wrote.
func captureKey(c Call, file string) string {
	if c.Env.MessageID == "" {
		return ""
	}
	return c.Env.MessageID + " " + file
}

var unsafeInName = regexp.MustCompile(`[^\pL\pN._-]+`)

// captureName is the name of a picture's file without the extension: what the model
// asked for, or what the address says with a mark of the call, and nothing in it
// that a file system or a shell could take amiss.
func captureName(asked string, address *url.URL, call string) string {
	name := path.Base(strings.ReplaceAll(strings.TrimSpace(asked), `\`, "/"))
	switch strings.ToLower(path.Ext(name)) {
	case ".png", ".jpg", ".jpeg", ".webp":
		name = strings.TrimSuffix(name, path.Ext(name))
	}
	clean := func(s string) string {
		return strings.Trim(thread.FirstRunes(unsafeInName.ReplaceAllString(s, "_"), maxCaptureName), "._-")
	}
	if name = clean(name); name != "" {
		return name
	}
	sum := sha256.Sum256([]byte(call))
	return clean(thread.FirstRunes(address.Hostname()+address.Path, maxCaptureName-10)) + "-" + hex.EncodeToString(sum[:4])
}
