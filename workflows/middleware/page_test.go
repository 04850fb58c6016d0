package middleware

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"deerflow/internal/agent"
)

var updatePage = flag.Bool("update", false, "write docs/middlewares.md")

const pagePath = "../../docs/middlewares.md"

// everything is a plan in which no middleware is left out.
func everything() *agent.Summary {
	return &agent.Summary{
		Loop: agent.LoopSettings{Enabled: true}, Input: &agent.InputRule{}, ToolOutput: &agent.ToolOutputRule{}, Guardrail: &agent.GuardrailRule{},
		ReadBeforeWrite: true, Summarization: &agent.SummarizationRule{}, PlanMode: true, TokenUsage: true, Title: &agent.TitleRule{},
		Memory: true, Vision: true, Deferred: &agent.DeferredRule{}, Subagents: &agent.SubagentRule{}, Budget: &agent.BudgetRule{},
		Safety: &agent.SafetyRule{},
	}
}

// The page about the middlewares says what the table of the order says.
func TestThePageIsCurrent(t *testing.T) {
	t.Parallel()
	var want string
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestWorkflowEnvironment()
	env.ExecuteWorkflow(func(ctx workflow.Context) error {
		want = page(t, ctx)
		return nil
	})
	require.NoError(t, env.GetWorkflowError())
	if *updatePage {
		require.NoError(t, os.WriteFile(pagePath, []byte(want), 0o644))
	}
	got, err := os.ReadFile(pagePath)
	require.NoError(t, err)
	require.Equal(t, want, string(got), "write it anew with: go test ./workflows/middleware -run TestThePageIsCurrent -update")
}

// All 25 of the mission are there, and in its order.
func TestTheSeedsMiddlewaresAreThere(t *testing.T) {
	t.Parallel()
	var names []string
	for _, p := range leadOrder() {
		if p.seed {
			names = append(names, p.name)
		}
	}
	require.Equal(t, []string{
		"InputSanitization", "ToolOutputBudget", "ThreadData", "Uploads", "Sandbox", "DanglingToolCall", "LLMErrorHandling", "Guardrail",
		"SandboxAudit", "ToolErrorHandling", "DynamicContext", "SkillActivation", "Summarization", "TodoList", "TokenUsage", "Title", "Memory",
		"ViewImage", "DeferredToolFilter", "SystemMessageCoalescing", "SubagentLimit", "LoopDetection", "TokenBudget", "SafetyFinishReason",
		"Clarification",
	}, names)
}

func page(t *testing.T, ctx workflow.Context) string {
	t.Helper()
	hooks := hooksByType(t)
	var b strings.Builder
	b.WriteString(`# The middlewares of the lead agent

This page is made from the table in ` + "`workflows/middleware`" + ` by a test; do not edit it by hand.

Every run goes through these middlewares, in this order. Before hooks and edits of the request run from the first to the last, after
hooks from the last to the first, and the first around hook is the outermost. A star marks what DeerFlow 2 has under the same name.

Memory, SkillActivation, SkillToolPolicy, DeferredToolFilter and SubagentLimit are whole, and nothing stands behind them yet: this
version has no memory, no skills, no tool search and no sub-agents, so they change nothing in a run.

| | name | what it does | hooks | on which runs | section of config.yaml |
| --- | --- | --- | --- | --- | --- |
`)
	for i, p := range leadOrder() {
		made := p.make(ctx, everything())
		require.Equal(t, p.name, made.Name(), "the row builds another middleware")
		name, when := p.name, p.when
		if p.seed {
			name += " *"
		}
		if when == "" {
			when = "all"
		}
		require.Equal(t, p.when != "", p.on != nil, "%s: who reads the page must know when it is on", p.name)
		section := p.config
		if section != "" {
			section = "`" + strings.ReplaceAll(section, ", ", "`, `") + "`"
		}
		fmt.Fprintf(&b, "| %d | %s | %s | %s | %s | %s |\n", i+1, name, p.does, strings.Join(hooks[typeName(made)], ", "), when, section)
	}
	b.WriteString("\n## Why this order\n\nA chain in which one of these does not hold is refused when it is built, with the names of the two.\n\n| first | then | because |\n| --- | --- | --- |\n")
	for _, c := range constraints() {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", c.first, c.second, c.reason)
	}
	b.WriteString("| all others | Clarification | nothing may run inside a question |\n")
	return b.String()
}

func typeName(m Middleware) string { return reflect.TypeOf(m).Elem().Name() }

// hooksByType reads from the source which hooks each type has of its own.
func hooksByType(t *testing.T) map[string][]string {
	t.Helper()
	words := map[string]string{
		"BeforeRun": "before run", "BeforeModel": "before model", "EditRequest": "request", "AroundModel": "around model",
		"AfterModel": "after model", "AroundTool": "around tool", "AfterRun": "after run",
	}
	order := []string{"before run", "before model", "request", "around model", "after model", "around tool", "after run"}
	hooks := map[string][]string{}
	files, err := os.ReadDir(".")
	require.NoError(t, err)
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), ".go") || strings.HasSuffix(f.Name(), "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), f.Name(), nil, 0)
		require.NoError(t, err)
		for _, d := range parsed.Decls {
			method, ok := d.(*ast.FuncDecl)
			if !ok || method.Recv == nil || words[method.Name.Name] == "" {
				continue
			}
			if star, ok := method.Recv.List[0].Type.(*ast.StarExpr); ok {
				name := star.X.(*ast.Ident).Name
				hooks[name] = append(hooks[name], words[method.Name.Name])
			}
		}
	}
	for _, list := range hooks {
		slices.SortFunc(list, func(a, b string) int { return slices.Index(order, a) - slices.Index(order, b) })
	}
	return hooks
}
