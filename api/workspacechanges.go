package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/labstack/echo/v4"

	"deerflow/internal/changes"
	"deerflow/internal/store"
)

// changesShape is what a run did to the files of its thread.
type changesShape struct {
	Available bool            `json:"available"` // false: nobody has looked
	Version   int             `json:"version"`
	Summary   changes.Summary `json:"summary"`
	Files     []changeShape   `json:"files"`
	Limits    map[string]int  `json:"limits"`
}

// changeShape is one changed file.
type changeShape struct {
	Path          string         `json:"path"`
	Root          string         `json:"root"`
	Status        changes.Status `json:"status"`
	Link          string         `json:"link_target,omitempty"`
	Binary        bool           `json:"binary"`
	Sensitive     bool           `json:"sensitive"`
	SizeBefore    *int64         `json:"size_before"`
	SizeAfter     *int64         `json:"size_after"`
	SHA256Before  *string        `json:"sha256_before"`
	SHA256After   *string        `json:"sha256_after"`
	Diff          string         `json:"diff"`
	DiffTruncated bool           `json:"diff_truncated"`
	NoDiff        *string        `json:"diff_unavailable_reason"`
	Additions     int            `json:"additions"`
	Deletions     int            `json:"deletions"`
}

func toChangeShape(f *changes.File, withDiff bool) changeShape {
	textOr := func(s string) *string {
		if s == "" {
			return nil
		}
		return &s
	}
	shape := changeShape{
		Path: f.Path, Root: f.Root, Status: f.Status, Link: f.Link, Binary: f.Binary, Sensitive: f.Sensitive,
		SizeBefore: f.SizeBefore, SizeAfter: f.SizeAfter, SHA256Before: textOr(f.SHA256Before), SHA256After: textOr(f.SHA256After),
		NoDiff: textOr(f.NoDiff), DiffTruncated: f.NoDiff == changes.NoDiffTruncated, Additions: f.Additions, Deletions: f.Deletions,
	}
	if withDiff {
		shape.Diff = f.Diff
	}
	return shape
}

// workspaceChanges tells what a run has done to files until now.
func (s *Server) workspaceChanges(c echo.Context) error {
	run, err := s.ownRun(c)
	if err != nil {
		return err
	}
	withFiles, err := queryFlag(c, "include_files", true)
	if err != nil {
		return err
	}
	withDiff, err := queryFlag(c, "include_diff", false)
	if err != nil {
		return err
	}
	shape := changesShape{Version: 1, Files: []changeShape{}, Limits: changes.Limits()}
	recorded, err := s.o.Store.Changes(c.Request().Context(), run.ThreadID, run.ID)
	if errors.Is(err, store.ErrNotFound) {
		return c.JSON(http.StatusOK, shape)
	}
	if err != nil {
		return err
	}
	shape.Available = true
	var all changes.Changes
	if recorded.Body != nil {
		if err := json.Unmarshal(recorded.Body, &all); err != nil {
			return fmt.Errorf("read the changes of run %s: %w", run.ID, err)
		}
	}
	shape.Summary = all.Summary
	for i := range all.Files {
		if withFiles {
			shape.Files = append(shape.Files, toChangeShape(&all.Files[i], withDiff))
		}
	}
	return c.JSON(http.StatusOK, shape)
}
