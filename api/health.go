package api

import (
	"context"
	"net/http"
	"strings"
	"sync"

	"github.com/labstack/echo/v4"
)

const serviceName = "deerflow"

// part is something that the service cannot work without.
type part struct {
	name  string
	check func(context.Context) error
}

func (s *Server) parts() []part {
	parts := []part{{"database", s.o.Store.Ping}}
	if s.o.TemporalHealth != nil {
		parts = append(parts, part{"temporal", s.o.TemporalHealth})
	}
	if s.o.WorkerHealth != nil {
		parts = append(parts, part{"worker", s.o.WorkerHealth})
	}
	return parts
}

// health answers 200 when every part answers, else 503 naming those that do
// not.
func (s *Server) health(c echo.Context) error {
	ctx, cancel := context.WithTimeout(c.Request().Context(), healthTimeout)
	defer cancel()
	parts := s.parts()
	faults := make([]error, len(parts))
	var wg sync.WaitGroup
	for i := range parts {
		wg.Go(func() { faults[i] = parts[i].check(ctx) })
	}
	wg.Wait()
	state := map[string]string{}
	var broken []string
	for i := range parts {
		state[parts[i].name] = "ok"
		if faults[i] != nil {
			state[parts[i].name] = faults[i].Error()
			broken = append(broken, parts[i].name+": "+faults[i].Error())
		}
	}
	body := map[string]any{"status": "healthy", "service": serviceName, "version": s.o.Version, "parts": state}
	if len(broken) == 0 {
		return c.JSON(http.StatusOK, body)
	}
	body["status"], body["detail"] = "unhealthy", strings.Join(broken, "; ")
	return c.JSON(http.StatusServiceUnavailable, body)
}

func (s *Server) ok(c echo.Context) error { return c.JSON(http.StatusOK, map[string]bool{"ok": true}) }

func (s *Server) info(c echo.Context) error {
	settings := s.o.Settings()
	models := settings.Models
	if models == nil {
		models = []string{}
	}
	return c.JSON(http.StatusOK, map[string]any{
		"service": serviceName, "version": s.o.Version,
		"flags":  map[string]bool{"assistants": true, "crons": false},
		"models": models, "default_model": settings.DefaultModel, "temporal_ui": s.o.TemporalUI,
	})
}
