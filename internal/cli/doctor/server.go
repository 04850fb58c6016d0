package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"

	"deerflow/internal/cli"
	"deerflow/internal/cli/locate"
)

// server asks the server how it is: the one that is named, that of the data directory, or the usual one.
func (e *exam) server(ctx context.Context) []Check {
	c := Check{Name: "server", Status: Skip}
	if e.o.Server != "" {
		health, err := locate.Probe(ctx, strings.TrimRight(e.o.Server, "/"))
		return []Check{serverCheck(e.o.Server, &health, err)}
	}
	a, err := locate.ReadAnnouncement(e.o.DataDir)
	if err == nil {
		health, err := locate.Probe(ctx, a.URL)
		if locate.IsServer(err) {
			e.announced, e.answers = &a, true
			return []Check{serverCheck(a.URL, &health, err)}
		}
		c.Status, c.Fix = Warn, "nothing is lost: the next '"+cli.ProgramName(e.o.Program)+" dev' goes on where it stopped"
		c.Detail = fmt.Sprintf("the server of process %d does not answer at %s: it did not stop in order", a.PID, a.URL)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return []Check{{c.Name, Warn, err.Error(), "remove the file when no server runs; it is written at each start"}}
	}
	if e.o.DefaultServer != "" {
		if health, err := locate.Probe(ctx, e.o.DefaultServer); locate.IsServer(err) {
			e.answers = true
			return []Check{serverCheck(e.o.DefaultServer, &health, err)}
		}
	}
	if c.Detail == "" {
		c.Detail = "none is running; start one with '" + cli.ProgramName(e.o.Program) + " dev'"
	}
	return []Check{c}
}

func serverCheck(url string, h *locate.Health, err error) Check {
	c := Check{Name: "server", Status: OK}
	var sick *locate.SickError
	switch {
	case errors.As(err, &sick):
		c.Status, c.Detail, c.Fix = Fail, fmt.Sprintf("%s: %v", url, err), "look at what it writes to standard error"
	case err != nil:
		c.Status, c.Detail, c.Fix = Fail, fmt.Sprintf("%s: %v", url, err), "start it, or leave --server and DEERFLOW_SERVER out"
	default:
		parts := make([]string, 0, len(h.Parts))
		for _, name := range slices.Sorted(maps.Keys(h.Parts)) {
			parts = append(parts, name+" "+h.Parts[name])
		}
		c.Detail = strings.TrimSuffix(fmt.Sprintf("%s, version %s: %s", url, h.Version, strings.Join(parts, ", ")), ": ")
	}
	return c
}

// ports looks whether a server could listen, when none does.
func (e *exam) ports(ctx context.Context) []Check {
	if e.answers {
		return []Check{{Name: "ports", Status: Skip, Detail: "a server is running"}}
	}
	free := make([]string, 0, len(e.o.Ports))
	var checks []Check
	for _, p := range e.o.Ports {
		address := net.JoinHostPort("127.0.0.1", strconv.Itoa(p.Number))
		ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
		if err != nil {
			checks = append(checks, Check{"ports", Warn, address + " is taken by another program", "stop that one, or choose another with " + p.Flag})
			continue
		}
		_ = ln.Close() // it only held the port
		free = append(free, strconv.Itoa(p.Number))
	}
	if len(free) > 0 {
		checks = append([]Check{{Name: "ports", Status: OK, Detail: "free: " + strings.Join(free, ", ")}}, checks...)
	}
	return checks
}
