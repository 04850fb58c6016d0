package api

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"deerflow/internal/evidence"
	"deerflow/internal/store"
	"deerflow/internal/thread"
)

// citationsShape is what the citations of a run rest on.
type citationsShape struct {
	Checked int         `json:"checked"`
	Fetched int         `json:"fetched"` // the page was read
	Given   int         `json:"given"`   // the user named the address
	Found   int         `json:"found"`   // a search named it, nobody read it
	Unknown int         `json:"unknown"` // nothing named it
	Flagged []flagShape `json:"flagged"` // the last two
}

// flagShape is a citation that points at nothing which was fetched.
type flagShape struct {
	Place string `json:"place"` // answer, or the virtual path of a file
	evidence.Flag
}

// toCitationsShape sums up the checks of a run; nil when nothing was cited.
func toCitationsShape(checks []evidence.Check) *citationsShape {
	shape := citationsShape{Flagged: []flagShape{}}
	for i := range checks {
		c := &checks[i]
		shape.Checked += c.Citations
		shape.Fetched += c.Fetched
		shape.Given += c.Given
		shape.Found += c.Found
		shape.Unknown += c.Unknown
		for _, f := range c.Flags {
			shape.Flagged = append(shape.Flagged, flagShape{Place: c.Place, Flag: f})
		}
	}
	if shape.Checked == 0 {
		return nil
	}
	return &shape
}

// sourceShape is a page that a tool has fetched or found.
type sourceShape struct {
	URL       string            `json:"url"`
	FinalURL  string            `json:"final_url,omitempty"` // where it led, if elsewhere
	Title     string            `json:"title"`
	Kind      thread.SourceKind `json:"kind"`
	At        string            `json:"fetched_at"`
	Hash      *string           `json:"hash"` // of the text that is kept; null: none
	SHA256    string            `json:"sha256,omitempty"`
	Size      int               `json:"size"` // bytes of the text
	Truncated bool              `json:"truncated"`
	RunID     string            `json:"run_id"`
	Tool      string            `json:"tool"`
	CallID    string            `json:"tool_call_id"`
	Cited     bool              `json:"cited"`
}

func toSourceShape(s *store.Source, cited map[string]bool) sourceShape {
	shape := sourceShape{
		URL: s.URL, FinalURL: s.FinalURL, Title: s.Title, Kind: s.Kind, At: stamp(s.At), SHA256: s.BodyHash,
		Size: s.Size, Truncated: s.Truncated, RunID: s.RunID, Tool: s.Tool, CallID: s.CallID,
	}
	if s.Hash != "" {
		shape.Hash = &s.Hash
	}
	for _, address := range []string{s.URL, s.FinalURL} {
		if key, ok := evidence.Key(address); ok && cited[key] {
			shape.Cited = true
		}
	}
	return shape
}

// listSources lists the pages of a thread, oldest first.
func (s *Server) listSources(c echo.Context) error {
	t, err := s.ownThread(c)
	if err != nil {
		return err
	}
	kind := thread.SourceKind(c.QueryParam("kind"))
	if !slices.Contains([]thread.SourceKind{"", thread.SourceFetched, thread.SourceFound}, kind) {
		return invalidField("literal_error", "Input should be 'fetch' or 'search'", "query", "kind")
	}
	sources, err := s.o.Store.Sources(c.Request().Context(), t.ID)
	if err != nil {
		return err
	}
	checks, err := s.o.Store.Checks(c.Request().Context(), t.ID, "")
	if err != nil {
		return err
	}
	cited := map[string]bool{}
	for _, list := range checks {
		for i := range list {
			for _, key := range list[i].Keys {
				cited[key] = true
			}
		}
	}
	list := []sourceShape{}
	for i := range sources {
		if kind == "" || sources[i].Kind == kind {
			list = append(list, toSourceShape(&sources[i], cited))
		}
	}
	return c.JSON(http.StatusOK, map[string]any{"thread_id": t.ID, "sources": list, "count": len(list)})
}

// textHash is the hash of a text, or as much of its beginning as nobody meets by
// chance.
var textHash = regexp.MustCompile(`^[0-9a-f]{8,64}$`)

// wholeHash is the length of a hash that is not cut short.
const wholeHash = 64

// sourceText gives what is kept of a page, as text that no browser runs.
func (s *Server) sourceText(c echo.Context) error {
	t, err := s.ownThread(c)
	if err != nil {
		return err
	}
	hash := c.Param("hash")
	missing := fail(http.StatusNotFound, "Source %s not found", thread.Prefix(hash, 64))
	if !textHash.MatchString(hash) {
		return missing
	}
	caching := "private, max-age=86400, immutable"
	if len(hash) < wholeHash {
		caching = "private, no-cache" // it may stand for several, one day
		named, err := s.o.Store.TextsNamed(c.Request().Context(), t.ID, hash)
		switch {
		case err != nil:
			return err
		case len(named) == 0:
			return missing
		case len(named) > 1:
			return fail(http.StatusConflict, "The hashes of several sources begin with %s: give more of it", hash)
		}
		hash = named[0]
	}
	text, err := s.o.Store.Text(c.Request().Context(), t.ID, hash)
	if err != nil {
		return storeError(err, missing)
	}
	h := c.Response().Header()
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	h.Set("Content-Disposition", disposition("inline", hash[:12]+".md"))
	h.Set("Cache-Control", caching)
	h.Set("ETag", `"`+hash+`"`)
	h.Set(echo.HeaderContentType, plainText)
	http.ServeContent(c.Response(), c.Request(), "", time.Time{}, strings.NewReader(text))
	return nil
}
