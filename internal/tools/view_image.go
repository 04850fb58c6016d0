package tools

import (
	"context"
	_ "embed"
	"fmt"
	"io"
	"net/http"
	"path"
	"strings"

	"deerflow/internal/agent"
	"deerflow/internal/sandbox"
	"deerflow/internal/thread"
)

//go:embed view_image.md
var viewImageText string

// MaxImageBytes is the size of the largest image that a model is shown.
const MaxImageBytes = 20 << 20

type viewImageParams struct {
	ImagePath string `json:"image_path" jsonschema:"The absolute path of the image, under /mnt/user-data."`
}

func viewImage() (Tool, error) {
	return definition[viewImageParams]{
		name: "view_image", description: viewImageText, class: agent.ClassRead, run: runViewImage,
	}.build()
}

// imageTypes are the formats that models see, by the extension of the name.
var imageTypes = map[string]string{
	".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".png": "image/png", ".webp": "image/webp", ".gif": "image/gif",
}

// runViewImage notes an image that the next model call shows. Its bytes stay
// where they are.
func runViewImage(ctx context.Context, c Call, p viewImageParams) (Result, error) {
	if c.Env.Sandbox == nil {
		return needsSandbox(), nil
	}
	want, ok := imageTypes[strings.ToLower(path.Ext(p.ImagePath))]
	if !ok {
		return failure("%s is no image that can be shown. The name must end in .jpg, .jpeg, .png, .webp or .gif.", shownPath(c, p.ImagePath)), nil
	}
	f, info, err := c.Env.Sandbox.Open(ctx, p.ImagePath)
	if err != nil {
		return fileAnswer(ctx, doingRead, p.ImagePath, err)
	}
	defer func() { _ = f.Close() }()
	if !belowUserData(info.Real) {
		return failure("Only images under %s, %s and %s can be shown.", sandbox.Workspace, sandbox.Uploads, sandbox.Outputs), nil
	}
	if info.Size > MaxImageBytes {
		return failure("%s has %d bytes, too many to be shown: at most %d. Make it smaller first.", info.Path, info.Size, MaxImageBytes), nil
	}
	head := make([]byte, 512)
	n, err := io.ReadFull(f, head)
	if err != nil && n == 0 {
		return failure("%s is empty or cannot be read as an image.", info.Path), nil
	}
	if got := http.DetectContentType(head[:n]); got != want {
		if !strings.HasPrefix(got, "image/") {
			return failure("%s does not contain an image: its contents are %s.", info.Path, got), nil
		}
		return failure("%s contains %s, but its name says %s. Rename it to match.", info.Path, got, want), nil
	}
	r := text(fmt.Sprintf("%s (%s, %d bytes) is shown to you with this result.", info.Path, want, info.Size))
	r.State = thread.StateUpdate{ViewedImages: &map[string]thread.ViewedImage{
		info.Path: {MimeType: want, Size: info.Size, Path: info.Real},
	}}
	return r, nil
}

func belowUserData(p string) bool {
	for _, dir := range []string{sandbox.Workspace, sandbox.Uploads, sandbox.Outputs} {
		if strings.HasPrefix(p, dir+"/") {
			return true
		}
	}
	return false
}
