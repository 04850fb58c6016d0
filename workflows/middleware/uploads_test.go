package middleware

import (
	"testing"

	"github.com/stretchr/testify/require"

	"deerflow/internal/step"
	"deerflow/internal/thread"
)

func TestUploads(t *testing.T) {
	t.Parallel()
	a, b := thread.UploadedFile{Filename: "a", Size: 1}, thread.UploadedFile{Filename: "b"}
	list := func(files ...thread.UploadedFile) *[]thread.UploadedFile {
		if files == nil {
			files = []thread.UploadedFile{}
		}
		return &files
	}
	for _, tc := range []struct {
		name     string
		old, new []thread.UploadedFile
		want     *[]thread.UploadedFile
	}{
		{"nothing", nil, nil, nil},
		{"nothing, cleared before", []thread.UploadedFile{}, nil, nil},
		{"the first", nil, []thread.UploadedFile{a, b}, list(a, b)},
		{"others", []thread.UploadedFile{a}, []thread.UploadedFile{b}, list(b)},
		{"none any more", []thread.UploadedFile{a}, nil, list()},
		{"the same", []thread.UploadedFile{a}, []thread.UploadedFile{a}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			u, err := (&Uploads{}).BeforeRun(nil, &Run{State: thread.State{UploadedFiles: tc.old}, Intake: step.Intake{Uploads: tc.new}})
			require.NoError(t, err)
			require.Equal(t, Update{State: thread.StateUpdate{UploadedFiles: tc.want}}, u)
		})
	}
}
