package activities

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"deerflow/internal/step"
	"deerflow/internal/thread"
	"deerflow/internal/tools"
)

// imageOf reads images for one request. One that is gone, has changed, cannot be
// read or is too much beside the others is a text that says so: the rest of the
// request goes on (10.15-8). All images together have at most left bytes.
func (a *Activities) imageOf(ctx context.Context, ref step.Ref, left int64) func(string, thread.ViewedImage) thread.Block {
	return func(path string, image thread.ViewedImage) thread.Block {
		data, err := a.readImage(ctx, ref, image, left)
		if err != nil {
			a.o.Logger.Warn("An image is not shown", "thread", ref.Thread, "path", path, "error", err)
			return thread.Block{Type: "text", Text: fmt.Sprintf("(It cannot be shown: %s.)", err)}
		}
		left -= int64(len(data))
		url := "data:" + image.MimeType + ";base64," + base64.StdEncoding.EncodeToString(data)
		raw, err := json.Marshal(map[string]any{"type": "image_url", "image_url": map[string]string{"url": url}})
		if err != nil {
			return thread.Block{Type: "text", Text: "(It cannot be shown.)"}
		}
		return thread.Block{Type: "image_url", Raw: raw}
	}
}

// readImage reads an image; the errors are for the model.
func (a *Activities) readImage(ctx context.Context, ref step.Ref, image thread.ViewedImage, left int64) ([]byte, error) {
	box, err := a.o.Sandboxes.Acquire(ctx, ref.User, ref.Thread)
	if err != nil {
		return nil, errors.New("its sandbox cannot be reached")
	}
	f, info, err := box.Open(ctx, image.Path)
	if err != nil {
		return nil, errors.New("the file is gone or cannot be read")
	}
	defer func() { _ = f.Close() }() // it was only read
	switch {
	case info.Size > tools.MaxImageBytes:
		return nil, errors.New("the file is too large")
	case info.Size != image.Size:
		return nil, errors.New("the file has changed since you asked for it; ask again")
	case info.Size > left:
		return nil, errors.New("the images that you asked for are too large together; ask for fewer at once")
	}
	data, err := io.ReadAll(io.LimitReader(f, image.Size))
	if err != nil || int64(len(data)) != image.Size {
		return nil, errors.New("the file cannot be read")
	}
	return data, nil
}
