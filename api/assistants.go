package api

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"deerflow/internal/thread"
)

// assistantShape is an assistant as the API shows it.
type assistantShape struct {
	AssistantID string         `json:"assistant_id"`
	GraphID     string         `json:"graph_id"`
	Name        string         `json:"name"`
	Description string         `json:"description"`
	Config      struct{}       `json:"config"`
	Context     struct{}       `json:"context"`
	Metadata    map[string]any `json:"metadata"`
	CreatedAt   string         `json:"created_at"`
	UpdatedAt   string         `json:"updated_at"`
	Version     int            `json:"version"`
}

// assistants are those that runs may name: the lead agent, which every run goes
// to. It is as old as the server that answers.
func (s *Server) assistants() []assistantShape {
	at := stamp(s.started)
	return []assistantShape{{
		AssistantID: leadAgent, GraphID: leadAgent, Name: leadAgent,
		Description: "Plans, researches with tools, and writes the answer",
		Metadata:    map[string]any{"created_by": "system"}, CreatedAt: at, UpdatedAt: at, Version: 1,
	}}
}

// assistant is the assistant in the path.
func (s *Server) assistant(c echo.Context) (assistantShape, error) {
	id := c.Param("assistant")
	for _, a := range s.assistants() {
		if a.AssistantID == id {
			return a, nil
		}
	}
	return assistantShape{}, fail(http.StatusNotFound, "Assistant %s not found", thread.Prefix(id, 80))
}

func (s *Server) getAssistant(c echo.Context) error {
	a, err := s.assistant(c)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, a)
}

// findAssistants are those that a search asks for.
func (s *Server) findAssistants(body object) []assistantShape {
	graph, name, metadata := body.text("graph_id"), strings.ToLower(body.text("name")), searchMetadata(body)
	return slices.DeleteFunc(s.assistants(), func(a assistantShape) bool {
		for key, value := range metadata {
			if a.Metadata[key] != value {
				return true
			}
		}
		return graph != "" && a.GraphID != graph || !strings.Contains(strings.ToLower(a.Name), name)
	})
}

func (s *Server) searchAssistants(c echo.Context) error {
	body, err := readObject(c)
	if err != nil {
		return err
	}
	found := s.findAssistants(body)
	limit, offset := body.number("limit", 10, 1, maxSearchLimit), body.number("offset", 0, 0, 1<<31-1)
	column := body.oneOf("sort_by", "", "assistant_id", "graph_id", "name", "created_at", "updated_at")
	descending := body.oneOf("sort_order", "", "desc", "asc") != "asc"
	fields := body.texts("select")
	if err := body.err(); err != nil {
		return err
	}
	slices.SortStableFunc(found, func(a, b assistantShape) int {
		order := strings.Compare(a.sortKey(column), b.sortKey(column))
		if descending {
			return -order
		}
		return order
	})
	page := found[min(offset, len(found)):]
	page = page[:min(limit, len(page))]
	if next := offset + len(page); next < len(found) {
		c.Response().Header().Set("X-Pagination-Next", strconv.Itoa(next))
	}
	list := make([]any, 0, len(page))
	for i := range page {
		shown, err := selectKeys(page[i], fields)
		if err != nil {
			return err
		}
		list = append(list, shown)
	}
	return c.JSON(http.StatusOK, list)
}

// sortKey is the text by which a column is sorted; no column leaves the order as
// it is.
func (a *assistantShape) sortKey(column string) string {
	switch column {
	case "assistant_id":
		return a.AssistantID
	case "graph_id":
		return a.GraphID
	case "name":
		return a.Name
	case "created_at", "updated_at":
		return a.CreatedAt
	}
	return ""
}

func (s *Server) countAssistants(c echo.Context) error {
	body, err := readObject(c)
	if err != nil {
		return err
	}
	found := s.findAssistants(body)
	if err := body.err(); err != nil {
		return err
	}
	return c.JSON(http.StatusOK, len(found))
}

// graphNode and graphEdge draw the loop that every run takes.
type graphNode struct {
	ID   string `json:"id"`
	Type string `json:"type"`
}

type graphEdge struct {
	Source      string `json:"source"`
	Target      string `json:"target"`
	Conditional bool   `json:"conditional"`
}

func (s *Server) getGraph(c echo.Context) error {
	a, err := s.assistant(c)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, map[string]any{
		"graph_id": a.GraphID,
		"nodes": []graphNode{
			{ID: nodeInput, Type: "schema"},
			{ID: nodeModel, Type: "runnable"},
			{ID: nodeTools, Type: "runnable"},
			{ID: nodeEnd, Type: "schema"},
		},
		"edges": []graphEdge{
			{Source: nodeInput, Target: nodeModel},
			{Source: nodeModel, Target: nodeTools, Conditional: true},
			{Source: nodeModel, Target: nodeEnd, Conditional: true},
			{Source: nodeTools, Target: nodeModel},
		},
	})
}

func (s *Server) getSubgraphs(c echo.Context) error {
	if _, err := s.assistant(c); err != nil {
		return err
	}
	return c.JSON(http.StatusOK, map[string]any{})
}

// schema is a JSON schema of an object with these properties.
func schema(title string, properties map[string]any) map[string]any {
	return map[string]any{"title": title, "type": "object", "properties": properties}
}

func (s *Server) getSchemas(c echo.Context) error {
	a, err := s.assistant(c)
	if err != nil {
		return err
	}
	text, flag := map[string]any{"type": "string"}, map[string]any{"type": "boolean"}
	messages := map[string]any{"type": "array", "items": map[string]any{"type": "object"}}
	state := schema("State", map[string]any{
		"messages": messages, "title": text, "artifacts": map[string]any{"type": "array", "items": text},
		"sandbox": map[string]any{"type": "object"}, "thread_data": map[string]any{"type": "object"},
	})
	options := map[string]any{
		"model_name": text, "agent_name": text, "mode": text, "reasoning_effort": text,
		"thinking_enabled": flag, "is_plan_mode": flag, "subagent_enabled": flag, "disable_clarification": flag,
	}
	return c.JSON(http.StatusOK, map[string]any{
		"graph_id":       a.GraphID,
		"input_schema":   schema("Input", map[string]any{"messages": messages}),
		"output_schema":  state,
		"state_schema":   state,
		"config_schema":  schema("Config", options),
		"context_schema": schema("Context", options),
	})
}
