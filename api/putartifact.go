package api

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"deerflow/internal/thread"
)

// putArtifact replaces a text that the agent has written by what a person has
// made of it, unless it is not the text that they have seen.
func (s *Server) putArtifact(c echo.Context) error {
	t, err := s.ownThread(c)
	if err != nil {
		return err
	}
	virtual, err := artifactPath(c)
	if err != nil {
		return err
	}
	if !strings.HasPrefix(virtual, thread.Outputs+"/") {
		return fail(http.StatusBadRequest, "Only files below %s/ can be edited", thread.Outputs)
	}
	body, err := readObject(c)
	if err != nil {
		return err
	}
	content, expected := body.text("content"), strings.ToLower(body.text("expected_sha256"))
	switch {
	case body.err() != nil || body.get("content") == nil:
		return fail(http.StatusBadRequest, "'content' should be the new text of the file")
	case !textHash.MatchString(expected):
		return fail(http.StatusBadRequest, "'expected_sha256' should be the SHA-256 of the text that is replaced, in hex: the ETag of the file")
	case len(content) > maxHashed:
		return fail(http.StatusRequestEntityTooLarge, "The text is larger than the limit of %d bytes", maxHashed)
	}
	ctx := c.Request().Context()
	if active, err := s.activeRun(ctx, t.ID); err != nil {
		return err
	} else if active != "" {
		return s.inFlight(ctx, t.ID, "Wait for its end, or cancel it, before a file is edited.")
	}
	info, err := s.o.Files.Replace(ctx, FileOwner{User: t.User, Thread: t.ID}, virtual, []byte(content), expected)
	switch {
	case errors.Is(err, ErrFileChanged):
		return fail(http.StatusPreconditionFailed, "%s has changed since it was read: read it again", virtual)
	case errors.Is(err, ErrNotText):
		return fail(http.StatusUnsupportedMediaType, "%s is no text that can be edited", virtual)
	case err != nil:
		return artifactError(err, virtual)
	}
	sum := sha256.Sum256([]byte(content))
	return c.JSON(http.StatusOK, map[string]any{"path": info.Path, "sha256": hex.EncodeToString(sum[:]), "size": info.Size})
}

// artifactShape is a file that the agent has presented.
type artifactShape struct {
	Path     string `json:"path"`
	Filename string `json:"filename"`
	URL      string `json:"artifact_url"`
	Exists   bool   `json:"exists"`
	Size     int64  `json:"size"`
	Modified string `json:"modified,omitempty"`
}

// listArtifacts describes the files that were presented in a thread, in the order
// in which they were.
func (s *Server) listArtifacts(c echo.Context) error {
	t, err := s.ownThread(c)
	if err != nil {
		return err
	}
	list := []artifactShape{}
	for _, virtual := range t.State.Artifacts {
		a := artifactShape{Path: virtual, Filename: virtual[strings.LastIndexByte(virtual, '/')+1:], URL: artifactURL(t.ID, virtual)}
		f, err := s.o.Files.Open(c.Request().Context(), FileOwner{User: t.User, Thread: t.ID}, virtual)
		if err == nil {
			info := f.Info()
			a.Exists, a.Size, a.Modified = true, info.Size, stamp(info.Modified)
			err = f.Close()
		}
		var known bool
		for _, gone := range []error{ErrFileNotFound, ErrFileRefused, ErrNotAFile} {
			known = known || errors.Is(err, gone)
		}
		if err != nil && !known {
			return err
		}
		list = append(list, a)
	}
	return c.JSON(http.StatusOK, map[string]any{"artifacts": list, "count": len(list)})
}
