package middleware

import (
	"testing"

	"github.com/stretchr/testify/require"

	"deerflow/internal/agent"
	"deerflow/internal/thread"
)

// The cases of spec 4.23 and 4.36.
func TestViewedImagesAreShownToTheNextCall(t *testing.T) {
	t.Parallel()
	image := thread.ViewedImage{MimeType: "image/png", Size: 3, Path: "/mnt/user-data/uploads/a.png"}
	two := map[string]thread.ViewedImage{"/b.png": image, "/a.png": image}
	human := thread.Digest{Role: thread.RoleHuman}
	asked := func(names ...string) thread.Digest {
		d := thread.Digest{Role: thread.RoleAI, Text: "let me see"}
		for _, name := range names {
			d.Calls = append(d.Calls, thread.CallDigest{Name: name})
		}
		return d
	}
	result := thread.Digest{Role: thread.RoleTool}
	nothing := thread.Digest{Role: thread.RoleAI, Empty: true}
	for _, tc := range []struct {
		name     string
		images   map[string]thread.ViewedImage
		messages []thread.Digest
		want     []string
	}{
		{"two images, in order", two, []thread.Digest{human, asked(ToolViewImage, ToolViewImage), result, result}, []string{"/a.png", "/b.png"}},
		{"beside another tool", two, []thread.Digest{human, asked("ls", ToolViewImage), result, result}, []string{"/a.png", "/b.png"}},
		{"a result is missing", two, []thread.Digest{human, asked("ls", ToolViewImage), result}, nil},
		{"an answer since", two, []thread.Digest{human, asked(ToolViewImage), result, asked("ls"), result}, nil},
		{"a question was asked beside it", two, []thread.Digest{human, asked(ToolViewImage, ToolAskClarification), result, result, human}, []string{"/a.png", "/b.png"}},
		{"an empty answer is asked for again", two, []thread.Digest{human, asked(ToolViewImage), result, nothing}, []string{"/a.png", "/b.png"}},
		{"none could be read", nil, []thread.Digest{human, asked(ToolViewImage), result}, nil},
		{"nobody asked", two, []thread.Digest{human}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			request := &Request{}
			run := &Run{Messages: tc.messages, State: thread.State{ViewedImages: tc.images}}
			require.NoError(t, (&ViewImage{}).EditRequest(nil, run, request))
			if tc.want == nil {
				require.Empty(t, request.Edits)
				return
			}
			require.Len(t, request.Edits, 1)
			require.Equal(t, agent.EditImages, request.Edits[0].Op)
			var paths []string
			for _, shown := range request.Edits[0].Images {
				require.Equal(t, image, shown.Image)
				paths = append(paths, shown.Path)
			}
			require.Equal(t, tc.want, paths)
		})
	}
}

func TestImagesThatWereSeenAreForgotten(t *testing.T) {
	t.Parallel()
	state := thread.State{ViewedImages: map[string]thread.ViewedImage{"/a.png": {}}}
	u, err := (&ViewImage{}).AfterModel(nil, &Run{State: state}, answered("I see", "stop"))
	require.NoError(t, err)
	require.NoError(t, state.Apply(u.State))
	require.Empty(t, state.ViewedImages)

	u, err = (&ViewImage{}).AfterModel(nil, &Run{}, answered("I see", "stop"))
	require.NoError(t, err)
	require.Equal(t, Update{}, u, "nothing to forget is no change")
}
