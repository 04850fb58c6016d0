package middleware

import (
	"slices"

	"go.temporal.io/sdk/workflow"

	"deerflow/internal/agent"
)

// place is a row of the table of the order.
type place struct {
	name string
	// seed: one of the 25 of the mission's table.
	seed bool
	does string // one sentence
	// config is the section of config.yaml that rules it; empty for none.
	config string
	// when says on which runs it is there; empty: on all.
	when string
	on   func(p *agent.Summary) bool
	make func(ctx workflow.Context, p *agent.Summary) Middleware
}

// Lead is the chain of the lead agent, in order. The table is the one place
// where the order stands.
func Lead(ctx workflow.Context, plan *agent.Summary) (*Chain, error) {
	var links []Middleware
	for _, p := range leadOrder() {
		if p.on == nil || p.on(plan) {
			links = append(links, p.make(ctx, plan))
		}
	}
	return New(ctx, links...)
}

// leadOrder is the table of the lead agent's chain.
func leadOrder() []place {
	return slices.Concat(runtimeOrder(), contextOrder(), limitsOrder())
}
