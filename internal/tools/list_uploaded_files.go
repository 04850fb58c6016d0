package tools

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"deerflow/internal/agent"
	"deerflow/internal/sandbox"
	"deerflow/internal/uploads"
)

//go:embed list_uploaded_files.md
var listUploadedFilesText string

// ListUploadedFiles is the name of the tool that lists the files of earlier
// messages.
const ListUploadedFiles = "list_uploaded_files"

// Bounds of a list of uploads.
const (
	defaultUploads = 20
	maxUploads     = 100
	// outlined is how much of a text is read for its outline, in bytes.
	outlined = 4 << 20
)

type listUploadedFilesParams struct {
	IncludeOutline any `json:"include_outline,omitempty" jsonschema:"Names of the files whose outlines are wanted; [\"*\"] for those of all listed files. Leave out for none."`
	MaxResults     int `json:"max_results,omitempty" jsonschema:"How many files to list at most, 1 to 100; 20 is the default."`
}

func listUploadedFiles() (Tool, error) {
	return definition[listUploadedFilesParams]{
		name: ListUploadedFiles, description: listUploadedFilesText, class: agent.ClassRead, run: runListUploadedFiles,
		loose: []string{"include_outline"},
		adjust: func(s *jsonschema.Schema) {
			// One type, since some providers take no other; true is understood too.
			s.Properties["include_outline"].Type = "array"
			s.Properties["include_outline"].Items = &jsonschema.Schema{Type: "string"}
		},
	}.build()
}

// uploadedFile is a file as the model sees it.
type uploadedFile struct {
	Filename  string   `json:"filename"`
	Size      int64    `json:"size"`
	Path      string   `json:"path"`
	Extension string   `json:"extension,omitempty"`
	Text      string   `json:"text,omitempty"`
	Outline   []string `json:"outline,omitempty"`
	Preview   []string `json:"outline_preview,omitempty"`
}

// uploadList is the result of the tool.
type uploadList struct {
	Files     []uploadedFile `json:"files"`
	Total     int            `json:"total_count"`
	Truncated bool           `json:"truncated,omitempty"`
	Omitted   string         `json:"omitted_summary,omitempty"`
	Message   string         `json:"message"`
}

func runListUploadedFiles(ctx context.Context, c Call, p listUploadedFilesParams) (Result, error) {
	if p.MaxResults < 0 || p.MaxResults > maxUploads {
		return failure("Invalid arguments for list_uploaded_files: argument \"max_results\" must be from 1 to %d", maxUploads), nil
	}
	wanted, ok := outlineWish(p.IncludeOutline)
	if !ok {
		return failure("Invalid arguments for list_uploaded_files: argument \"include_outline\" must be a list of file names"), nil
	}
	list := uploadList{Files: []uploadedFile{}, Message: "No files were uploaded with earlier messages."}
	if c.Env.Uploads == nil {
		return jsonResult(list)
	}
	d, err := c.Env.Uploads()
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, uploads.ErrElsewhere) {
		return jsonResult(list)
	}
	if err != nil {
		return Result{}, fmt.Errorf("%w: %w", sandbox.ErrUnavailable, err)
	}
	defer func() { _ = d.Close() }()
	infos, err := d.Files()
	if err != nil {
		return Result{}, fmt.Errorf("%w: %w", sandbox.ErrUnavailable, err)
	}
	if err := ctx.Err(); err != nil {
		return Result{}, err
	}
	texts := d.Texts(infos)
	infos = earlier(infos, texts, c.Env.CurrentUploads)
	list.Total = len(infos)
	shown := min(len(infos), cmp.Or(p.MaxResults, defaultUploads))
	for _, info := range infos[:shown] {
		list.Files = append(list.Files, describeUpload(d, info, texts[info.Name()], wanted))
	}
	if list.Total > 0 {
		list.Message = fmt.Sprintf("%d of %d files, the newest first.", shown, list.Total)
	}
	if shown < list.Total {
		list.Truncated = true
		rest := make([]uploads.File, 0, list.Total-shown)
		for _, info := range infos[shown:] {
			rest = append(rest, uploads.File{Name: info.Name()})
		}
		list.Omitted = uploads.Kinds(rest)
	}
	return jsonResult(list)
}

// outlineWish tells of which files an outline is wanted.
func outlineWish(v any) (wanted func(name string) bool, ok bool) {
	switch v := v.(type) {
	case nil:
		return func(string) bool { return false }, true
	case bool:
		return func(string) bool { return v }, true
	case string: // models write a list as text, too
		var list any
		if json.Unmarshal([]byte(v), &list) == nil {
			if _, again := list.(string); !again {
				return outlineWish(list)
			}
		}
		return func(name string) bool { return sameUpload(name, v) }, true
	case []any:
		return func(name string) bool {
			return slices.ContainsFunc(v, func(item any) bool {
				asked, _ := item.(string)
				return sameUpload(name, asked)
			})
		}, true
	}
	return nil, false
}

// sameUpload reports whether a model means the file: by its name, as it was shown
// or as it is, or by its path.
func sameUpload(name, asked string) bool {
	if asked == "*" {
		return true
	}
	asked = uploads.SameName(path.Base(asked))
	return asked == uploads.SameName(name) || asked == uploads.SameName(uploads.Shown(name))
}

// earlier are the files of earlier messages, the newest first. The text of a
// document is no file of its own.
func earlier(infos []fs.FileInfo, texts map[string]string, current []string) []fs.FileInfo {
	hidden := map[string]bool{}
	for _, text := range texts {
		hidden[text] = true
	}
	for _, name := range current {
		hidden[name] = true
	}
	infos = slices.DeleteFunc(infos, func(f fs.FileInfo) bool { return hidden[f.Name()] })
	slices.SortStableFunc(infos, func(a, b fs.FileInfo) int { return b.ModTime().Compare(a.ModTime()) })
	return infos
}

func describeUpload(d *uploads.Directory, info fs.FileInfo, text string, wanted func(string) bool) uploadedFile {
	name := info.Name()
	f := uploadedFile{
		Filename: uploads.Shown(name), Size: info.Size(), Path: path.Join(sandbox.Uploads, uploads.Shown(name)), Extension: uploads.Shown(path.Ext(name)),
	}
	if text != "" {
		f.Text = path.Join(sandbox.Uploads, uploads.Shown(text))
	}
	if text == "" && strings.EqualFold(path.Ext(name), ".md") {
		text = name
	}
	if text == "" || !wanted(name) {
		return f
	}
	r, err := d.Open(text)
	if err != nil {
		return f
	}
	defer func() { _ = r.Close() }()
	outline, err := uploads.ReadOutline(io.LimitReader(r, outlined))
	if err != nil {
		return f
	}
	for _, h := range outline.Headings {
		f.Outline = append(f.Outline, fmt.Sprintf("L%d: %s", h.Line, agent.Line(h.Title)))
	}
	for _, line := range outline.Preview {
		f.Preview = append(f.Preview, agent.Line(line))
	}
	return f
}

func jsonResult(v any) (Result, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return Result{}, err
	}
	return text(string(data)), nil
}
