package api

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"deerflow/internal/evidence"
	"deerflow/internal/export"
	"deerflow/internal/store"
	"deerflow/internal/thread"
	"deerflow/internal/uploads"
)

// Bounds of the work for exports: it is done in the request.
const (
	exportTimeout = 20 * time.Second
	maxExports    = 2 // at once
	exportWait    = 10 * time.Second
)

// missingGlyphsHeader says how many characters of a PDF could not be shown.
const missingGlyphsHeader = "Deerflow-Missing-Glyphs"

// export gives the last answer of a thread, or a Markdown file of it, as a
// document to keep.
func (s *Server) export(c echo.Context) error {
	format := c.QueryParam("format")
	if format == "" {
		format = "md"
	}
	if format != "md" && format != "html" && format != "pdf" {
		return invalidField("literal_error", "Input should be 'md', 'html' or 'pdf'", "query", "format")
	}
	view, err := s.ownView(c)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(c.Request().Context(), exportTimeout)
	defer cancel()
	report, place, err := s.reportOf(ctx, &view, c.QueryParam("path"))
	if err != nil {
		return err
	}
	if report.References, err = s.references(ctx, &view.Thread, place, report.Markdown); err != nil {
		return err
	}
	release, err := s.exportTurn(ctx)
	if err != nil {
		return err
	}
	defer release()
	return s.sendExport(ctx, c, report, format, exportName(report.Title, place))
}

// exportTurn waits until one of the few exports at once may go on.
func (s *Server) exportTurn(ctx context.Context) (release func(), err error) {
	timer := time.NewTimer(exportWait)
	defer timer.Stop()
	select {
	case s.exports <- struct{}{}:
		return func() { <-s.exports }, nil
	case <-timer.C:
	case <-ctx.Done():
	}
	return nil, &apiError{status: http.StatusServiceUnavailable, detail: "Too many documents are being exported, try again", retry: 5}
}

func (s *Server) sendExport(ctx context.Context, c echo.Context, report *export.Report, format, name string) error {
	var data []byte
	var err error
	kind := "text/markdown; charset=utf-8"
	h := c.Response().Header()
	switch format {
	case "md":
		data = []byte(report.Text())
	case "html":
		kind = "text/html; charset=utf-8"
		data, err = report.HTML()
	default:
		kind = "application/pdf"
		var pdf export.PDF
		if pdf, err = report.PDF(ctx, s.o.Settings().ExportFonts); err == nil {
			data = pdf.Data
			h.Set(missingGlyphsHeader, strconv.Itoa(pdf.Missing))
			for _, bad := range pdf.BadFonts {
				s.o.Logger.Warn("A font of export.pdf_fonts cannot be used", "error", bad)
			}
		}
	}
	switch {
	case errors.Is(err, export.ErrTooLong):
		return fail(http.StatusRequestEntityTooLarge, "The document is too long to be exported as %s: export it as md", strings.ToUpper(format))
	case errors.Is(err, context.DeadlineExceeded):
		return fail(http.StatusRequestEntityTooLarge, "The document takes too long to be exported as %s: export it as md", strings.ToUpper(format))
	case err != nil:
		return err
	}
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	h.Set("Content-Disposition", disposition("attachment", name+"."+format))
	h.Set("Cache-Control", "private, no-cache")
	h.Set(echo.HeaderContentType, kind)
	http.ServeContent(c.Response(), c.Request(), "", time.Time{}, bytes.NewReader(data))
	return nil
}

// reportOf reads what is exported: the file at a virtual path, or the last answer.
// place is where its citations were checked.
func (s *Server) reportOf(ctx context.Context, view *store.View, virtual string) (report *export.Report, place string, err error) {
	t := &view.Thread
	report = &export.Report{Title: t.State.Title, Image: s.imageOf(ctx, t)}
	if virtual == "" {
		for i := len(view.Rows) - 1; i >= 0; i-- {
			if m := &view.Rows[i].Message; m.Role == thread.RoleAI && m.CallCount() == 0 && m.Content.String() != "" {
				report.Markdown, report.Dir = m.Content.String(), thread.Outputs
				return report, evidence.PlaceAnswer, nil
			}
		}
		return nil, "", fail(http.StatusNotFound, "Thread %s has no answer to export yet", t.ID)
	}
	if ext := strings.ToLower(path.Ext(virtual)); ext != ".md" && ext != ".markdown" {
		return nil, "", fail(http.StatusBadRequest, "Only Markdown files can be exported, not %s", virtual)
	}
	data, err := s.readWhole(ctx, t, virtual, maxHashed)
	if err != nil {
		return nil, "", artifactError(err, virtual)
	}
	report.Markdown, report.Dir = strings.ToValidUTF8(string(data), "\uFFFD"), path.Dir(virtual)
	return report, path.Clean(virtual), nil
}

// imageOf reads the images of a thread's documents.
func (s *Server) imageOf(ctx context.Context, t *store.Thread) func(string) ([]byte, error) {
	const most = 4 << 20
	return func(virtual string) ([]byte, error) { return s.readWhole(ctx, t, virtual, most) }
}

func (s *Server) readWhole(ctx context.Context, t *store.Thread, virtual string, limit int64) ([]byte, error) {
	f, err := s.o.Files.Open(ctx, FileOwner{User: t.User, Thread: t.ID}, virtual)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", virtual, err)
	}
	if int64(len(data)) > limit {
		return nil, ErrFileTooLarge
	}
	return data, nil
}

// references tells what the citations of a document rest on: what was fetched and
// found since is looked up, what users gave stands in the last check of the place.
func (s *Server) references(ctx context.Context, t *store.Thread, place, document string) ([]export.Reference, error) {
	citations := evidence.Citations(document)
	if len(citations) == 0 {
		return nil, nil
	}
	sources, err := s.o.Store.Sources(ctx, t.ID)
	if err != nil {
		return nil, err
	}
	known := map[string]*store.Source{}
	for i := range sources {
		for _, address := range []string{sources[i].URL, sources[i].FinalURL} {
			key, ok := evidence.Key(address)
			if old := known[key]; ok && (old == nil || old.Kind != thread.SourceFetched) {
				known[key] = &sources[i]
			}
		}
	}
	checks, err := s.o.Store.Checks(ctx, t.ID, "")
	if err != nil {
		return nil, err
	}
	list := make([]export.Reference, len(citations))
	for i, c := range citations {
		list[i] = export.Reference{Title: c.Title, URL: c.URL, Grade: gradeIn(checks, place, &c)}
		if source := known[c.Key]; source != nil {
			list[i].At, list[i].Grade = source.At, evidence.Found
			if source.Kind == thread.SourceFetched {
				list[i].Grade = evidence.Fetched
			}
			if list[i].Title == "" {
				list[i].Title = source.Title
			}
		}
	}
	return list, nil
}

// gradeIn is the grade that checks of a place have given a page which no tool has
// fetched or found.
func gradeIn(checks map[string][]evidence.Check, place string, c *evidence.Citation) evidence.Grade {
	grade := evidence.Unknown
	for _, list := range checks {
		for i := range list {
			if list[i].Place != place {
				continue
			}
			if g := list[i].GradeOf(c.Key); g == evidence.Given || g == evidence.Found && grade == evidence.Unknown {
				grade = g
			}
		}
	}
	return grade
}

// exportName is the name of the file that is sent.
func exportName(title, place string) string {
	if place != evidence.PlaceAnswer {
		name := path.Base(place)
		return strings.TrimSuffix(name, path.Ext(name))
	}
	name := strings.Map(func(r rune) rune {
		if strings.ContainsRune(`/\:*?"<>|`, r) {
			return ' '
		}
		return r
	}, title)
	if name = uploads.CleanName(thread.FirstRunes(strings.Join(strings.Fields(name), " "), 60)); name == "" {
		return "report"
	}
	return name
}
