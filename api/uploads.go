package api

import (
	"context"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"os"
	"path"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"deerflow/internal/uploads"
)

// uploadTimeout is how long the files of one request may take to come.
const uploadTimeout = 15 * time.Minute

// formOverhead is what a form may be larger than the files in it.
const formOverhead = 1 << 20

// fileShape is an uploaded file as the API shows it.
type fileShape struct {
	Filename         string `json:"filename"`
	OriginalFilename string `json:"original_filename,omitempty"` // when it had to be changed
	Size             int64  `json:"size"`
	Path             string `json:"path"`
	VirtualPath      string `json:"virtual_path"`
	ArtifactURL      string `json:"artifact_url"`
	Extension        string `json:"extension"`
	Modified         string `json:"modified"`

	// The text of a document.
	MarkdownFile        string `json:"markdown_file,omitempty"`
	MarkdownPath        string `json:"markdown_path,omitempty"`
	MarkdownVirtualPath string `json:"markdown_virtual_path,omitempty"`
	MarkdownArtifactURL string `json:"markdown_artifact_url,omitempty"`
	ConversionWarning   string `json:"conversion_warning,omitempty"` // about the text
	ConversionError     string `json:"conversion_error,omitempty"`   // why there is none
}

func toFileShape(o FileOwner, f *FileInfo) fileShape {
	shape := fileShape{
		Filename: f.Name, Size: f.Size, Path: f.Path, VirtualPath: f.Path,
		ArtifactURL: artifactURL(o.Thread, f.Path), Extension: path.Ext(f.Name), Modified: stamp(f.Modified),
	}
	shape.hasText(o, f.Text)
	return shape
}

// artifactURL is where a file is read, below the server's address.
func artifactURL(threadID, virtualPath string) string {
	parts := strings.Split(strings.TrimPrefix(virtualPath, "/"), "/")
	for i := range parts {
		parts[i] = url.PathEscape(parts[i])
	}
	return "/api/threads/" + threadID + "/artifacts/" + strings.Join(parts, "/")
}

// fileOwner says whose files a request is about. The thread need not exist yet:
// pages upload before they create it.
func (s *Server) fileOwner(c echo.Context) (FileOwner, error) {
	id, err := threadParam(c)
	if err != nil {
		return FileOwner{}, err
	}
	var missing *apiError
	if _, err := s.ownThread(c); err != nil && !errors.As(err, &missing) {
		return FileOwner{}, err
	}
	// A thread of somebody else has other directories: what is found below the
	// caller's own is theirs in any case.
	return FileOwner{User: ownerOf(c), Thread: id}, nil
}

func (s *Server) limits() UploadLimits { return s.o.Settings().Uploads.withDefaults() }

func (s *Server) uploadLimits(c echo.Context) error {
	limits := s.limits()
	return c.JSON(http.StatusOK, map[string]any{
		"max_files": limits.MaxFiles, "max_file_size": limits.MaxFileSize, "max_total_size": limits.MaxTotalSize,
	})
}

func (s *Server) listUploads(c echo.Context) error {
	o, err := s.fileOwner(c)
	if err != nil {
		return err
	}
	files, err := s.o.Files.List(c.Request().Context(), o)
	if err != nil {
		return err
	}
	list := make([]fileShape, 0, len(files))
	for i := range files {
		list = append(list, toFileShape(o, &files[i]))
	}
	return c.JSON(http.StatusOK, map[string]any{"files": list, "count": len(list)})
}

func (s *Server) deleteUpload(c echo.Context) error {
	o, err := s.fileOwner(c)
	if err != nil {
		return err
	}
	name := c.Param("filename")
	if c.Request().URL.RawPath != "" { // the router matched the escaped form
		name, err = url.PathUnescape(name)
	}
	if err != nil || !uploads.Plain(name) {
		return fail(http.StatusBadRequest, "That is no name of an uploaded file")
	}
	switch err := s.o.Files.Delete(c.Request().Context(), o, name); {
	case errors.Is(err, ErrFileNotFound):
		return fail(http.StatusNotFound, "File not found: %s", name)
	case errors.Is(err, ErrFileRefused):
		return fail(http.StatusForbidden, "File %s cannot be deleted: the upload directory of the thread leads elsewhere", name)
	case errors.Is(err, ErrNotAFile):
		return fail(http.StatusBadRequest, "%s is not a file", name)
	case err != nil:
		return err
	}
	return c.JSON(http.StatusOK, map[string]any{"success": true, "message": "Deleted " + name})
}

func (s *Server) upload(c echo.Context) error {
	o, err := s.fileOwner(c)
	if err != nil {
		return err
	}
	deadline := http.NewResponseController(c.Response())
	_ = deadline.SetReadDeadline(time.Now().Add(uploadTimeout))
	defer func() { _ = deadline.SetReadDeadline(time.Time{}) }()
	limits := s.limits() // in force for all of this upload
	c.Request().Body = http.MaxBytesReader(c.Response(), c.Request().Body, limits.MaxTotalSize+formOverhead)
	form, err := c.Request().MultipartReader()
	if err != nil {
		return fail(http.StatusBadRequest, "Files should come as multipart/form-data in fields named 'files'")
	}
	u := &uploading{s: s, owner: o, limits: limits, skipped: []string{}}
	if err := u.all(c.Request().Context(), form); err != nil {
		u.discard(context.WithoutCancel(c.Request().Context()))
		return err
	}
	switch {
	case len(u.files) == 0 && len(u.skipped) > 0:
		return fail(http.StatusBadRequest, "File name %q cannot be used", u.skipped[0])
	case len(u.files) == 0:
		return fail(http.StatusBadRequest, "No files were sent: they should come in fields named 'files'")
	}
	u.convert(c.Request().Context())
	return c.JSON(http.StatusOK, map[string]any{
		"success": true, "files": u.files, "skipped_files": u.skipped, "message": uploadMessage(u.files),
	})
}

func uploadMessage(files []fileShape) string {
	names := make([]string, len(files))
	for i := range files {
		names[i] = files[i].Filename
	}
	return "Uploaded " + strings.Join(names, ", ")
}

// uploading is one request with files. Either all of them are stored, or none;
// those whose names cannot be used are skipped.
type uploading struct {
	s      *Server
	owner  FileOwner
	limits UploadLimits
	files  []fileShape
	total  int64
	// skipped are the names that could not be used, as they were given.
	skipped []string
}

func (u *uploading) all(ctx context.Context, form *multipart.Reader) error {
	for {
		part, err := form.NextPart()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return u.readError(err)
		}
		if part.FormName() != "files" && part.FormName() != "file" {
			continue
		}
		if err := u.one(ctx, part); err != nil {
			return err
		}
	}
}

func (u *uploading) one(ctx context.Context, part *multipart.Part) error {
	limits := u.limits
	given := givenName(part)
	name := uploads.CleanName(given)
	switch {
	case len(u.files)+len(u.skipped) == limits.MaxFiles:
		return fail(http.StatusRequestEntityTooLarge, "Too many files: at most %d can be uploaded at once", limits.MaxFiles)
	}
	if name == "" {
		u.skipped = append(u.skipped, strings.ToValidUTF8(given, "\uFFFD"))
		u.s.o.Logger.Warn("A file is skipped: its name cannot be used", "thread", u.owner.Thread, "name", given)
		return nil
	}
	room := min(limits.MaxFileSize, limits.MaxTotalSize-u.total)
	info, err := u.s.o.Files.Upload(ctx, u.owner, name, part, room)
	switch {
	case errors.Is(err, ErrFileTooLarge) && room < limits.MaxFileSize:
		return fail(http.StatusRequestEntityTooLarge, "The files are larger than the limit of %d bytes in all, with %s", limits.MaxTotalSize, name)
	case errors.Is(err, ErrFileTooLarge):
		return fail(http.StatusRequestEntityTooLarge, "File %s is larger than the limit of %d bytes", name, limits.MaxFileSize)
	case errors.Is(err, ErrFileRefused):
		return fail(http.StatusForbidden, "File %s cannot be stored: the upload directory of the thread leads elsewhere", name)
	case err != nil:
		return u.readError(err)
	}
	u.total += info.Size
	shape := toFileShape(u.owner, &info)
	if shape.Filename != given {
		shape.OriginalFilename = uploads.RepairEncoding(given)
	}
	u.files = append(u.files, shape)
	return nil
}

// readError turns a request that broke off, or was too long, into an answer. What
// is no fault of the request stays as it is.
func (u *uploading) readError(err error) error {
	var tooLong *http.MaxBytesError
	switch {
	case errors.As(err, &tooLong):
		return fail(http.StatusRequestEntityTooLarge, "The upload is larger than the limit of %d bytes in all", u.limits.MaxTotalSize)
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, os.ErrDeadlineExceeded), isMultipartFault(err):
		return &apiError{status: http.StatusBadRequest, detail: "The upload could not be read to its end", cause: err}
	}
	return err
}

// isMultipartFault tells the errors by which mime/multipart refuses a form; they
// have no type.
func isMultipartFault(err error) bool {
	return strings.Contains(err.Error(), "multipart: ") || strings.Contains(err.Error(), "malformed MIME header") ||
		errors.Is(err, multipart.ErrMessageTooLarge)
}

// givenName is the file name of a part as the client wrote it. Clients that put
// raw bytes into the header, or forget to escape quotes, are understood too.
func givenName(part *multipart.Part) string {
	header := part.Header.Get("Content-Disposition")
	if _, params, err := mime.ParseMediaType(header); err == nil {
		return params["filename"]
	}
	_, rest, found := strings.Cut(header, "filename=")
	if !found {
		return ""
	}
	rest = strings.TrimSpace(rest)
	if quoted, ok := strings.CutPrefix(rest, `"`); ok {
		name, _, _ := strings.Cut(quoted, `"`)
		return name
	}
	name, _, _ := strings.Cut(rest, ";")
	return strings.TrimSpace(name)
}

// discard takes back what was stored of a request that failed.
func (u *uploading) discard(ctx context.Context) {
	for i := range u.files {
		if err := u.s.o.Files.Delete(ctx, u.owner, u.files[i].Filename); err != nil && !errors.Is(err, ErrFileNotFound) {
			u.s.o.Logger.Warn("Remove an upload of a request that failed", "thread", u.owner.Thread, "error", err)
		}
	}
}
