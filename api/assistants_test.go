package api

import "testing"

func TestAssistants(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	for _, prefix := range []string{"", "/api", "/api/langgraph"} {
		for _, s := range []scenario{
			{method: "POST", path: "/assistants/search", status: 200, want: []string{`"assistant_id":"lead_agent"`, `"version":1`, `"created_by":"system"`}},
			{method: "POST", path: "/assistants/search", body: `{"name":"LEAD","metadata":{"created_by":"system"}}`, status: 200, want: []string{"lead_agent"}},
			{method: "POST", path: "/assistants/search", body: `{"name":"other"}`, status: 200, want: []string{"[]"}},
			{method: "POST", path: "/assistants/search", body: `{"graph_id":"other"}`, status: 200, want: []string{"[]"}},
			{method: "POST", path: "/assistants/search", body: `{"metadata":{"created_by":"me"}}`, status: 200, want: []string{"[]"}},
			{method: "POST", path: "/assistants/search", body: `{"offset":5}`, status: 200, want: []string{"[]"}},
			{method: "POST", path: "/assistants/search", body: `{"select":["name"]}`, status: 200, want: []string{`[{"name":"lead_agent"}]`}},
			{method: "POST", path: "/assistants/search", body: `{"limit":0,"sort_by":"colour"}`, status: 422, want: []string{`"limit"`, `"sort_by"`}},
			{method: "POST", path: "/assistants/count", body: `{"graph_id":"lead_agent"}`, status: 200, want: []string{"1"}},
			{method: "GET", path: "/assistants/lead_agent", status: 200, want: []string{`"graph_id":"lead_agent"`}},
			{method: "GET", path: "/assistants/nobody", status: 404, want: []string{`{"detail":"Assistant nobody not found"}`}},
			{method: "GET", path: "/assistants/lead_agent/graph?xray=true", status: 200, want: []string{`"source":"__start__"`, `"conditional":true`}},
			{method: "GET", path: "/assistants/nobody/graph", status: 404},
			{method: "GET", path: "/assistants/lead_agent/schemas", status: 200, want: []string{`"state_schema"`, `"thinking_enabled"`}},
			{method: "GET", path: "/assistants/nobody/schemas", status: 404},
			{method: "GET", path: "/assistants/lead_agent/subgraphs?recurse=true", status: 200, want: []string{"{}"}},
		} {
			s.path = prefix + s.path
			e.check(t, s)
		}
	}
}
