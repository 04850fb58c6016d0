package config

import (
	"maps"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
)

// containerName is what a Docker engine takes as the beginning of a name.
var containerName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,60}$`)

// environmentName is what every shell takes as the name of a variable.
var environmentName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// checkMachines checks the settings of providers that use containers and other
// machines.
func (d *decoder) checkMachines(s *Sandbox) {
	if !containerName.MatchString(s.ContainerPrefix) {
		d.errorf(d.line("sandbox", "container_prefix"), "sandbox.container_prefix: want letters, digits, \".\", \"_\" and \"-\", got %s",
			d.given("sandbox.container_prefix", s.ContainerPrefix))
	}
	if s.HostBaseDir != "" && !path.IsAbs(s.HostBaseDir) {
		d.errorf(d.line("sandbox", "host_base_dir"), "sandbox.host_base_dir: want an absolute path, got %s",
			d.given("sandbox.host_base_dir", s.HostBaseDir))
	}
	for _, name := range slices.Sorted(maps.Keys(s.Environment)) {
		if !environmentName.MatchString(name) {
			d.errorf(d.line("sandbox.environment", name), "sandbox.environment: %q is no name of a variable: want letters, digits and underscores", name)
		}
	}
	d.checkMachineURL("base_url", strings.ReplaceAll(s.BaseURL, "{sandbox_id}", "0"))
	d.checkMachineURL("provisioner_url", s.ProvisionerURL)
	if s.Use != SandboxRemote {
		return
	}
	switch {
	case s.BaseURL == "" && s.ProvisionerURL == "":
		d.errorf(d.line("sandbox", "use"), "sandbox.use: remote needs sandbox.base_url, the address of a sandbox, or sandbox.provisioner_url")
	case s.BaseURL != "" && s.ProvisionerURL != "":
		d.errorf(d.line("sandbox", "provisioner_url"), "sandbox.provisioner_url: sandbox.base_url is given too; one of them has to go")
	case s.ProvisionerURL != "" && s.ProvisionerAPIKey == "":
		d.errorf(d.line("sandbox", "provisioner_url"), "sandbox.provisioner_api_key is missing: a provisioner takes no call without its key")
	}
}

func (d *decoder) checkMachineURL(key, text string) {
	if text == "" {
		return
	}
	if u, err := url.Parse(text); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		at := "sandbox." + key
		d.errorf(d.line("sandbox", key), "%s: want an address such as http://host:8080, got %s", at, d.given(at, text))
	}
}
