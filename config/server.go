package config

import (
	"net/url"
	"strings"
)

// Toggle is a switch that can also be left to the program.
type Toggle string

// The values of a Toggle.
const (
	ToggleAuto Toggle = "auto"
	ToggleOn   Toggle = "true"
	ToggleOff  Toggle = "false"
)

func (t *Toggle) setText(text string) error {
	if strings.EqualFold(text, string(ToggleAuto)) {
		*t = ToggleAuto
		return nil
	}
	on, ok := parseBool(text)
	if !ok {
		return wantError("auto, true or false")
	}
	*t = ToggleOff
	if on {
		*t = ToggleOn
	}
	return nil
}

// Auth says whether callers must prove who they are.
type Auth struct {
	// Enabled is ToggleAuto (the default): off on loopback addresses, on
	// everywhere else. ToggleOff is for loopback alone.
	Enabled Toggle `yaml:"enabled"`
}

func (*Auth) unusedKeys() []string { return []string{"local", "oidc"} }

// Server widens who may talk to the HTTP API from a browser. The server's own
// address and loopback names are always allowed.
type Server struct {
	// AllowedOrigins are further values of the Origin header: scheme, host and
	// port if it is not the standard one, without a path.
	AllowedOrigins []string `yaml:"allowed_origins,omitempty"`
	// AllowedHosts are further values of the Host header.
	AllowedHosts []string `yaml:"allowed_hosts,omitempty"`
}

func (d *decoder) checkServer(s *Server) {
	for i, origin := range s.AllowedOrigins {
		path := index("server.allowed_origins", i)
		u, err := url.Parse(origin)
		if err != nil || !webURL(u) || u.Path != "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
			d.errorf(d.line(path), "%s: want scheme and host such as https://app.example.com (no path, no wildcard)", path)
		}
	}
	for i, host := range s.AllowedHosts {
		path := index("server.allowed_hosts", i)
		if host == "" || strings.ContainsAny(host, "/*@ ") {
			d.errorf(d.line(path), "%s: want a host name such as app.example.com, without scheme, path or wildcard", path)
		}
	}
}

// checkURL reports a value that is no http or https address. The value itself
// is not shown, since it may hold a password.
func (d *decoder) checkURL(path, value string) {
	if value == "" {
		return
	}
	if u, err := url.Parse(value); err != nil || !webURL(u) {
		d.errorf(d.line(path), "%s: want an address such as https://host/path", path)
	}
}

func webURL(u *url.URL) bool {
	return (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != ""
}
