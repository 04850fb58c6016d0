package web

import (
	"context"
	"net/http"
	"strings"
)

// The window of a picture, in pixels.
const (
	viewportWidth  = 1280
	viewportHeight = 720
	maxViewport    = 7680
)

// Capture asks /screenshot.
func (b browserless) Capture(ctx context.Context, r CaptureRequest) (Shot, error) {
	format := r.Format
	if format == "" {
		format = "png"
	}
	options := map[string]any{"fullPage": r.FullPage, "type": format}
	if quality, ok := number(b.Values["quality"]); ok && format != "png" && quality >= 0 && quality <= 100 {
		options["quality"] = int(quality)
	}
	body := map[string]any{"options": options, "viewport": map[string]any{
		"width":  b.window(r.Width, "viewport_width", viewportWidth),
		"height": b.window(r.Height, "viewport_height", viewportHeight),
	}}
	if b.Bool("best_attempt") {
		body["bestAttempt"] = true
	}
	response, page, err := b.ask(ctx, "/screenshot", r.URL, body)
	if err != nil {
		return Shot{}, err
	}
	if len(response.Body) == 0 {
		return Shot{}, failed(KindNoContent, "No content found: %s returned an empty picture", browserlessService)
	}
	kind := http.DetectContentType(response.Body)
	if !strings.HasPrefix(kind, "image/") {
		return Shot{}, failed(KindFormat, "%s answered with something that is no picture", browserlessService)
	}
	return Shot{Data: response.Body, ContentType: kind, FinalURL: page.FinalURL, Warning: page.Warning}, nil
}

// window is one side of the window: what the model wants, else what the entry
// says.
func (b browserless) window(asked int, option string, standard int) int {
	if asked > 0 {
		return min(asked, maxViewport)
	}
	return b.Int(option, standard, maxViewport)
}
