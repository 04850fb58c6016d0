package tools

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"deerflow/internal/thread"
)

// The first bytes by which formats are known.
const (
	pngHead  = "\x89PNG\r\n\x1a\n"
	jpegHead = "\xff\xd8\xff\xe0"
	gifHead  = "GIF89a"
	webpHead = "RIFF\x00\x00\x00\x00WEBPVP8 "
)

func TestViewImage(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	for name, content := range map[string]string{
		"a.png": pngHead + "rest", "b.JPG": jpegHead + "rest", "c.jpeg": jpegHead, "d.webp": webpHead, "e.gif": gifHead,
		"text.png": "hello", "wrong.png": jpegHead + "rest", "empty.png": "", "f.txt": pngHead, "f.svg": "<svg/>",
	} {
		k.write(name, content)
	}
	for _, tc := range []struct{ path, mime, problem string }{
		{path: "/mnt/user-data/workspace/a.png", mime: "image/png"},
		{path: "a.png", mime: "image/png"},
		{path: "/mnt/user-data/workspace/b.JPG", mime: "image/jpeg"},
		{path: "/mnt/user-data/workspace/c.jpeg", mime: "image/jpeg"},
		{path: "/mnt/user-data/workspace/d.webp", mime: "image/webp"},
		{path: "/mnt/user-data/workspace/e.gif", mime: "image/gif"},
		{path: "/mnt/user-data/workspace/text.png", problem: "does not contain an image"},
		{path: "/mnt/user-data/workspace/wrong.png", problem: "contains image/jpeg, but its name says image/png"},
		{path: "/mnt/user-data/workspace/empty.png", problem: "is empty"},
		{path: "/mnt/user-data/workspace/f.txt", problem: "The name must end in"},
		{path: "/mnt/user-data/workspace/f.svg", problem: "The name must end in"},
		{path: "/mnt/user-data/workspace/gone.png", problem: "gone.png"},
		{path: "/etc/passwd.png", problem: "passwd.png"},
		{path: "/mnt/user-data/../../x.png", problem: "x.png"},
	} {
		t.Run(tc.path, func(t *testing.T) {
			t.Parallel()
			r := k.call("view_image", map[string]any{"image_path": tc.path})
			if tc.problem != "" {
				require.True(t, r.Error, r.Text)
				require.Contains(t, r.Text, tc.problem)
				require.Nil(t, r.State.ViewedImages)
				return
			}
			require.False(t, r.Error, r.Text)
			require.Len(t, *r.State.ViewedImages, 1)
			for _, image := range *r.State.ViewedImages {
				require.Equal(t, tc.mime, image.MimeType)
				require.True(t, strings.HasPrefix(image.Path, "/mnt/user-data/workspace/"), image.Path)
				require.NotZero(t, image.Size)
			}
		})
	}
}

// workspaceFile is where a file of the workspace lies on the host.
func workspaceFile(k *kit, name string) string {
	return filepath.Join(k.root, "u1/threads/t1/user-data/workspace", name)
}

func TestViewImageStaysInTheThread(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	outside := filepath.Join(t.TempDir(), "secret.png")
	require.NoError(t, os.WriteFile(outside, []byte(pngHead), 0o600))
	k.write("x", "x")
	require.NoError(t, os.Symlink(outside, workspaceFile(k, "link.png")))
	r := k.call("view_image", map[string]any{"image_path": "/mnt/user-data/workspace/link.png"})
	require.True(t, r.Error, r.Text)
	require.NotContains(t, r.Text, outside)
}

func TestViewImageHasALimit(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	k.write("large.png", pngHead)
	require.NoError(t, os.Truncate(workspaceFile(k, "large.png"), MaxImageBytes+1))
	r := k.call("view_image", map[string]any{"image_path": "large.png"})
	require.True(t, r.Error)
	require.Contains(t, r.Text, "too many to be shown")

	require.NoError(t, os.Truncate(workspaceFile(k, "large.png"), MaxImageBytes))
	r = k.call("view_image", map[string]any{"image_path": "large.png"})
	require.False(t, r.Error, r.Text)
	require.Equal(t, map[string]thread.ViewedImage{
		"/mnt/user-data/workspace/large.png": {MimeType: "image/png", Size: MaxImageBytes, Path: "/mnt/user-data/workspace/large.png"},
	}, *r.State.ViewedImages)
}
