package doctor

import (
	"context"
	"time"

	"deerflow/config"
	"deerflow/internal/cli/locate"
)

// Options say what is looked at.
type Options struct {
	ConfigPath string        // config.yaml; empty: where it is usually found
	Getenv     config.Lookup // the real environment
	locate.Options
	Ports []Port // that a server would listen on
	Model bool   // ask each model for one token, which may cost money
	// Version is that of this binary.
	Version string
	Now     func() time.Time // time.Now when nil
}

// Port is one that a server listens on by default.
type Port struct {
	Number int
	Flag   string // by which another one is chosen
}

// exam is one call of [Run].
type exam struct {
	o      Options
	report Report

	config    *config.Config // nil when it cannot be read
	announced *locate.Announcement
	answers   bool // a server of this machine answers, healthy or not
}

// checkTimeout bounds one check that asks something over the network.
const checkTimeout = 10 * time.Second

// Run makes all checks. It takes some seconds at most when parts do not answer.
func Run(ctx context.Context, o Options) Report {
	if o.Now == nil {
		o.Now = time.Now
	}
	e := &exam{o: o}
	for _, check := range []func(context.Context) []Check{
		e.machine, e.configuration, e.sandbox, e.dataDir, e.clock, e.database, e.server, e.ports, e.temporal, e.models,
	} {
		e.report.add(check(ctx)...)
	}
	return e.report
}

// getenv looks a variable up where the config's values come from, too: the environment, then the .env file.
func (e *exam) getenv(name string) string {
	if e.config != nil {
		if value, ok := e.config.Getenv(name); ok {
			return value
		}
	}
	value, _ := e.o.Getenv(name)
	return value
}
