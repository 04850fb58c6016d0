package sandbox

import (
	"fmt"
	"maps"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
)

// ownerVariable marks every command with the provider that started it and a
// number, so that commands can be found whose process has gone, and what a command
// has put into a session of its own.
const ownerVariable = "SANDBOX_OWNER"

// inherited are the variables that commands get from this process (J05). All
// others stay outside: an allow-list cannot miss the next secret.
var inherited = map[string]bool{
	"PATH": true, "LANG": true, "LANGUAGE": true, "TZ": true, "TERM": true, "USER": true, "LOGNAME": true,
	"TMPDIR": true, "SSL_CERT_FILE": true, "SSL_CERT_DIR": true, "REQUESTS_CA_BUNDLE": true,
	"CURL_CA_BUNDLE": true, "NODE_EXTRA_CA_CERTS": true,
	"HTTP_PROXY": true, "HTTPS_PROXY": true, "ALL_PROXY": true, "NO_PROXY": true,
	"http_proxy": true, "https_proxy": true, "all_proxy": true, "no_proxy": true,
}

// environ is the whole environment of a command with a mark. Later entries win.
func (h *hostShell) environ(j Job, mark string) []string {
	env := map[string]string{"TERM": "dumb", "LANG": "C.UTF-8"}
	for _, entry := range os.Environ() {
		name, value, _ := strings.Cut(entry, "=")
		if (inherited[name] || strings.HasPrefix(name, "LC_")) && !secretName(name) && !hasPassword(value) {
			env[name] = value
		}
	}
	if env["PATH"] == "" {
		env["PATH"] = "/usr/local/bin:/usr/bin:/bin"
	}
	env["HOME"], env["PWD"], env["SHELL"] = j.Dir, j.Dir, h.shell
	maps.Copy(env, j.Env)
	env[ownerVariable] = mark
	return entries(env)
}

// entries is an environment as a process gets it, in order.
func entries(env map[string]string) []string {
	list := make([]string, 0, len(env))
	for _, name := range slices.Sorted(maps.Keys(env)) {
		list = append(list, name+"="+env[name])
	}
	return list
}

var identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// checkEnv refuses names that no shell takes and values that no process can get.
func checkEnv(env map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(env)) {
		if !identifier.MatchString(name) {
			return &CommandError{Reason: fmt.Sprintf("environment variable %.80q: the name must be letters, digits and underscores", name)}
		}
		if strings.ContainsRune(env[name], 0) {
			return &CommandError{Reason: fmt.Sprintf("environment variable %s: the value has a NUL character", name)}
		}
	}
	return nil
}

// secretName reports whether a variable's name says that it holds a secret.
func secretName(name string) bool {
	upper := strings.ToUpper(name)
	for _, part := range []string{"KEY", "SECRET", "TOKEN", "PASS", "CREDENTIAL", "DSN"} {
		if strings.Contains(upper, part) {
			return true
		}
	}
	for _, prefix := range []string{"DEERFLOW_", "DEER_FLOW_", "TEMPORAL_"} {
		if strings.HasPrefix(upper, prefix) {
			return true
		}
	}
	switch upper {
	case "DATABASE_URL", "DATABASE_URI", "REDIS_URL", "MONGODB_URI", "MONGO_URL", "AMQP_URL", "RABBITMQ_URL",
		"POSTGRES_URL", "POSTGRESQL_URL", "MYSQL_URL", "CLICKHOUSE_URL", "CONNECTION_STRING", "CONN_STR",
		"GH_PAT", "GITHUB_PAT", "MYSQL_PWD", "REDISCLI_AUTH", "REDIS_AUTH", "PGSERVICEFILE":
		return true
	}
	return false
}

// hasPassword reports whether a value is a URL with a password, as the address
// of a proxy may be.
func hasPassword(value string) bool {
	u, err := url.Parse(value)
	if err != nil {
		return strings.Contains(value, "@")
	}
	return u.User != nil
}
