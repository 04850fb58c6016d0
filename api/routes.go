package api

import (
	"net/http"

	"github.com/labstack/echo/v4"
)

// mount is one place where the handlers stand.
type mount struct {
	group   *echo.Group
	dialect echo.MiddlewareFunc
}

// on adds a route. The dialect is bound to the route, not to the group: a group
// with a middleware would answer 404 where a method is wrong.
func (m mount) on(method, path string, h echo.HandlerFunc) {
	m.group.Add(method, path, h, m.dialect)
}

// routes mounts the handlers.
func (s *Server) routes() {
	for prefix, d := range mounts() {
		m := mount{group: s.echo.Group(prefix), dialect: withDialect(d)}
		m.on(http.MethodGet, "/ok", s.ok)
		m.on(http.MethodGet, "/info", s.info)
		m.on(http.MethodGet, "/health", s.health)
		s.assistantRoutes(m)
		s.threadRoutes(m)
		s.stateRoutes(m)
		s.runRoutes(m)
		s.statelessRoutes(m)
		s.fileRoutes(m)
	}
}

func (s *Server) assistantRoutes(m mount) {
	m.on(http.MethodPost, "/assistants/search", s.searchAssistants)
	m.on(http.MethodPost, "/assistants/count", s.countAssistants)
	m.on(http.MethodGet, "/assistants/:assistant", s.getAssistant)
	m.on(http.MethodGet, "/assistants/:assistant/graph", s.getGraph)
	m.on(http.MethodGet, "/assistants/:assistant/schemas", s.getSchemas)
	m.on(http.MethodGet, "/assistants/:assistant/subgraphs", s.getSubgraphs)
	m.on(http.MethodGet, "/assistants/:assistant/subgraphs/:namespace", s.getSubgraphs)
}

func (s *Server) threadRoutes(m mount) {
	m.on(http.MethodPost, "/threads", s.createThread)
	m.on(http.MethodPost, "/threads/search", s.searchThreads)
	m.on(http.MethodPost, "/threads/count", s.countThreads)
	m.on(http.MethodPost, "/threads/prune", s.pruneThreads)
	m.on(http.MethodGet, "/threads/:thread", s.getThread)
	m.on(http.MethodPatch, "/threads/:thread", s.patchThread)
	m.on(http.MethodDelete, "/threads/:thread", s.deleteThread)
	m.on(http.MethodPost, "/threads/:thread/copy", s.copyThread)
	m.on(http.MethodGet, "/threads/:thread/stream", s.joinThread)
}

func (s *Server) stateRoutes(m mount) {
	m.on(http.MethodGet, "/threads/:thread/state", s.getState)
	m.on(http.MethodPost, "/threads/:thread/state", s.updateState)
	m.on(http.MethodGet, "/threads/:thread/state/:checkpoint", s.getStateAt)
	m.on(http.MethodPost, "/threads/:thread/state/checkpoint", s.getStateAtCheckpoint)
	m.on(http.MethodPost, "/threads/:thread/compact", s.compact)
	m.on(http.MethodGet, "/threads/:thread/history", s.getHistory)
	m.on(http.MethodPost, "/threads/:thread/history", s.getHistory)
}

func (s *Server) runRoutes(m mount) {
	m.on(http.MethodPost, "/threads/:thread/runs", s.createRun)
	m.on(http.MethodPost, "/threads/:thread/runs/stream", s.createAndStream)
	m.on(http.MethodPost, "/threads/:thread/runs/wait", s.createAndWait)
	m.on(http.MethodGet, "/threads/:thread/runs", s.listRuns)
	m.on(http.MethodGet, "/threads/:thread/runs/:run", s.getRun)
	m.on(http.MethodDelete, "/threads/:thread/runs/:run", s.deleteRun)
	m.on(http.MethodPost, stopRoute, s.cancelRun)
	m.on(http.MethodGet, "/threads/:thread/runs/:run/join", s.joinRun)
	m.on(http.MethodGet, "/threads/:thread/runs/:run/stream", s.joinStream)
}

// statelessRoutes are about runs that name no thread.
func (s *Server) statelessRoutes(m mount) {
	m.on(http.MethodPost, "/runs", s.createStateless)
	m.on(http.MethodPost, "/runs/stream", s.streamStateless)
	m.on(http.MethodPost, "/runs/wait", s.waitStateless)
	m.on(http.MethodPost, "/runs/batch", s.createBatch)
	m.on(http.MethodPost, "/runs/cancel", s.cancelRuns)
	m.on(http.MethodGet, "/runs/:run/stream", s.joinStreamByID)
}

func (s *Server) fileRoutes(m mount) {
	m.on(http.MethodPost, "/threads/:thread/uploads", s.upload)
	m.on(http.MethodGet, "/threads/:thread/uploads/list", s.listUploads)
	m.on(http.MethodGet, "/threads/:thread/uploads/limits", s.uploadLimits)
	m.on(http.MethodDelete, "/threads/:thread/uploads/:filename", s.deleteUpload)
	m.on(http.MethodGet, "/threads/:thread/artifacts/*", s.artifact)
	m.on(http.MethodHead, "/threads/:thread/artifacts/*", s.artifact)
	m.on(http.MethodPut, "/threads/:thread/artifacts/*", s.putArtifact)
	m.on(http.MethodGet, "/threads/:thread/artifacts", s.listArtifacts)
	m.on(http.MethodGet, "/threads/:thread/runs/:run/workspace-changes", s.workspaceChanges)
	m.on(http.MethodGet, "/threads/:thread/sources", s.listSources)
	m.on(http.MethodHead, "/threads/:thread/sources", s.listSources)
	m.on(http.MethodGet, "/threads/:thread/sources/:hash", s.sourceText)
	m.on(http.MethodHead, "/threads/:thread/sources/:hash", s.sourceText)
	m.on(http.MethodGet, "/threads/:thread/export", s.export)
	m.on(http.MethodHead, "/threads/:thread/export", s.export)
}
