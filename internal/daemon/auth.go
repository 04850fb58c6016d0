package daemon

import (
	"context"
	"fmt"
	"net"
	"strings"
	"time"

	"deerflow/config"
	"deerflow/internal/store"
)

// authDisabledVariable turns authentication off on loopback, as in DeerFlow.
const authDisabledVariable = "DEER_FLOW_AUTH_DISABLED"

// auth says whether callers of the API must prove who they are, and what the
// operator should know about that; "" for nothing.
type auth struct {
	required bool
	notice   string
}

// authFor decides for an address. Whoever can reach more than loopback is asked
// for a key, always. The error is a [*UsageError].
func authFor(cfg *config.Config, listen string) (auth, error) {
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return auth{}, usage("--listen %q: want host:port, such as 127.0.0.1:2026: %w", listen, err)
	}
	loopback := isLoopback(host)
	switch {
	case cfg.Auth.Enabled == config.ToggleOff && !loopback:
		return auth{}, usage("--listen %q: %s has auth.enabled: false, which is for loopback addresses only (127.0.0.1, localhost, ::1): leave it at auto, or listen there", listen, cfg.Path)
	case !authDisabled(cfg):
		return auth{required: cfg.Auth.Enabled == config.ToggleOn || cfg.Auth.Enabled == config.ToggleAuto && !loopback}, nil
	case !loopback:
		return auth{required: true, notice: authDisabledVariable + " counts on loopback addresses only: callers need an API key"}, nil
	case inProduction(cfg):
		a, err := authFor(withoutVariables(cfg), listen)
		a.notice = authDisabledVariable + " is ignored in a production environment"
		return a, err
	}
	return auth{}, nil
}

// withoutVariables is the configuration as if no variable were set.
func withoutVariables(cfg *config.Config) *config.Config {
	return &config.Config{Path: cfg.Path, Auth: cfg.Auth}
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func authDisabled(cfg *config.Config) bool {
	value, _ := cfg.Getenv(authDisabledVariable)
	return value == "1" || strings.EqualFold(value, "true")
}

func inProduction(cfg *config.Config) bool {
	for _, name := range []string{"DEER_FLOW_ENV", "ENVIRONMENT"} {
		value, _ := cfg.Getenv(name)
		if value = strings.ToLower(strings.TrimSpace(value)); value == "prod" || value == "production" {
			return true
		}
	}
	return false
}

// asksForKeys reports whether the API asks for keys, and warns when nobody has
// one.
func (d *Daemon) asksForKeys(ctx context.Context, o Options, st *store.Store) (bool, error) {
	a, err := authFor(d.Config, o.Listen)
	if err != nil {
		return false, err
	}
	if a.notice != "" {
		d.Warnings = append(d.Warnings, config.Warning{Msg: a.notice})
	}
	if !a.required {
		return false, nil
	}
	keys, err := st.ListKeys(ctx)
	if err != nil {
		return false, fmt.Errorf("look for API keys: %w", err)
	}
	for i := range keys {
		if !keys[i].Revoked() && !keys[i].Expired(time.Now()) {
			return true, nil
		}
	}
	command := "deerflow keys create --admin"
	if d.databaseURL() == "" {
		command += fmt.Sprintf(" --data-dir %q", d.dataDir)
	}
	d.Warnings = append(d.Warnings, config.Warning{Msg: "callers need an API key, and there is none yet; make the first one with: " + command})
	return true, nil
}

// ownHosts are the names of Host headers that are right for an address.
func ownHosts(allowed []string, listen string) []string {
	host, _, err := net.SplitHostPort(listen)
	if err != nil || host == "" || net.ParseIP(host) != nil {
		return allowed
	}
	return append([]string{host}, allowed...)
}
