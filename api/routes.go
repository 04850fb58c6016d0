package api

import (
	"net/http"

	"github.com/labstack/echo/v4"
)

// routes mounts the handlers.
func (s *Server) routes() {
	for prefix, d := range mounts() {
		g := s.echo.Group(prefix, withDialect(d))
		g.GET("/ok", s.ok)
		g.GET("/info", s.info)
		g.GET("/health", s.health)
		s.threadRoutes(g)
		s.runRoutes(g)
		s.fileRoutes(g)
	}
}

func (s *Server) threadRoutes(g *echo.Group) {
	g.POST("/threads", s.createThread)
	g.POST("/threads/search", s.searchThreads)
	g.GET("/threads/:thread", s.getThread)
	g.PATCH("/threads/:thread", s.patchThread)
	g.DELETE("/threads/:thread", s.deleteThread)
	g.GET("/threads/:thread/state", s.getState)
	g.GET("/threads/:thread/history", s.getHistory)
	g.POST("/threads/:thread/history", s.getHistory)
}

func (s *Server) runRoutes(g *echo.Group) {
	g.POST("/threads/:thread/runs", s.createRun)
	g.POST("/threads/:thread/runs/stream", s.createAndStream)
	g.POST("/threads/:thread/runs/wait", s.createAndWait)
	g.GET("/threads/:thread/runs", s.listRuns)
	g.GET("/threads/:thread/runs/:run", s.getRun)
	g.POST("/threads/:thread/runs/:run/cancel", s.cancelRun)
	g.GET("/threads/:thread/runs/:run/join", s.joinRun)
	g.GET("/threads/:thread/runs/:run/stream", s.joinStream)
}

func (s *Server) fileRoutes(g *echo.Group) {
	g.POST("/threads/:thread/uploads", s.upload)
	g.GET("/threads/:thread/uploads/list", s.listUploads)
	g.GET("/threads/:thread/uploads/limits", s.uploadLimits)
	g.Match([]string{http.MethodGet, http.MethodHead}, "/threads/:thread/artifacts/*", s.artifact)
}
