package config

import (
	"fmt"
	"maps"
	"math"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// optionCheck says what is wanted of an option's value that cannot be used, "" for
// one that can. YAML and variables give different types.
type optionCheck func(value any) (want string)

// checkWebOptions warns of options that the tool does not read, and of values that
// it would put aside.
func (d *decoder) checkWebOptions(t *Tool, path string, known webOptions) {
	if known == nil {
		return // the tool is left out
	}
	names := slices.Sorted(maps.Keys(known))
	for _, name := range slices.Sorted(maps.Keys(t.Options)) {
		check, isOption := known[name]
		if !isOption {
			d.warnf(d.line(path, name), "%s.%s is no option of %s%s (it has: %s)", path, name, t.Use,
				didYouMean(name, slices.Concat(names, fieldNames(*t))), strings.Join(names, ", "))
			continue
		}
		value := t.Options[name]
		if value == nil {
			continue // as if it were not there
		}
		if want := check(value); want != "" {
			d.warnf(d.line(path, name), "%s.%s: want %s, got %s; it is put aside", path, name, want, d.shown(path+"."+name, value))
		}
	}
}

// shown is the value of an option in the words of the file, without secrets.
func (d *decoder) shown(path string, value any) string {
	switch value.(type) {
	case map[string]any:
		return "keys and values"
	case []any:
		return "a list"
	}
	text := fmt.Sprint(value)
	if u, err := url.Parse(text); err == nil && u.User != nil {
		text = u.Redacted()
	}
	return d.given(path, text)
}

// checkWebKeys warns of providers that answer nothing without a key, once each. A
// key that one entry has serves all of the provider.
func (d *decoder) checkWebKeys(c *Config) {
	if len(d.errs) > 0 {
		return
	}
	providers, told := webProviders(), map[string]bool{}
	for i := range c.Tools {
		name, _, _ := strings.Cut(c.Tools[i].Use, ":")
		p := providers[name]
		if p.key == "" || told[name] || !c.Tools[i].Available() {
			continue
		}
		told[name] = true
		if value, _ := c.lookup(p.key); strings.TrimSpace(value) == "" && !hasKey(c.Tools, name) {
			path := index("tools", i)
			d.warnf(d.line(path, "api_key", "use"), "%s: %s has no key, so its tools will fail: set api_key, or the variable %s", path, name, p.key)
		}
	}
}

func hasKey(entries []Tool, provider string) bool {
	return slices.ContainsFunc(entries, func(t Tool) bool {
		name, _, _ := strings.Cut(t.Use, ":")
		return name == provider && strings.TrimSpace(t.Options.Secret("api_key").Reveal()) != ""
	})
}

// scalarText is a text or a number as text.
func scalarText(value any) (string, bool) {
	switch v := value.(type) {
	case string:
		return strings.TrimSpace(v), true
	case Secret:
		return strings.TrimSpace(v.Reveal()), true
	case int, int64, float64:
		return fmt.Sprint(v), true
	}
	return "", false
}

func isText(value any) string {
	if _, ok := scalarText(value); !ok {
		return "a text"
	}
	return ""
}

// isScalar takes truth values too.
func isScalar(value any) string {
	if _, isBool := value.(bool); isBool {
		return ""
	}
	return isText(value)
}

func between(value any, least, most float64) bool {
	text, ok := scalarText(value)
	n, err := strconv.ParseFloat(text, 64)
	return ok && err == nil && n >= least && n <= most
}

func isNumber(value any) string {
	if !between(value, 1, math.MaxFloat64) {
		return "a whole number above 0"
	}
	return ""
}

func isSeconds(value any) string {
	if !between(value, math.SmallestNonzeroFloat64, math.MaxFloat64) {
		return "a number of seconds above 0"
	}
	return ""
}

func isPercent(value any) string {
	if !between(value, 0, 100) {
		return "a number from 0 to 100"
	}
	return ""
}

func isFlag(value any) string {
	text, ok := scalarText(value)
	if _, isBool := value.(bool); isBool || ok && slices.Contains([]string{"true", "yes", "on", "1", "false", "no", "off", "0"}, strings.ToLower(text)) {
		return ""
	}
	return "true or false"
}

func isURL(value any) string {
	text, ok := scalarText(value)
	if u, err := url.Parse(text); !ok || text != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
		return "an address with http:// or https://"
	}
	return ""
}

func oneOf(choices ...string) optionCheck {
	return func(value any) string {
		if text, ok := scalarText(value); !ok || text != "" && !slices.Contains(choices, strings.ToLower(text)) {
			return "one of " + strings.Join(choices, ", ")
		}
		return ""
	}
}

// listed are the items of a list, or of a text with commas in it.
func listed(value any) ([]string, bool) {
	if text, ok := scalarText(value); ok {
		return strings.Split(text, ","), true
	}
	items, ok := value.([]any)
	texts := make([]string, len(items))
	for i, item := range items {
		var isScalar bool
		texts[i], isScalar = scalarText(item)
		ok = ok && isScalar
	}
	return texts, ok
}

func isList(value any) string {
	if _, ok := listed(value); !ok {
		return "a list of texts"
	}
	return ""
}

func isHosts(value any) string {
	hosts, ok := listed(value)
	for _, host := range hosts {
		ok = ok && isHost(strings.TrimSpace(host))
	}
	if !ok {
		return "a list of hosts: names, *.names, addresses, or blocks like 10.1.0.0/16"
	}
	return ""
}

func isHost(host string) bool {
	if _, err := netip.ParseAddr(host); err == nil {
		return true
	}
	if strings.Contains(host, "/") {
		_, err := netip.ParsePrefix(host)
		return err == nil
	}
	return !strings.ContainsAny(strings.TrimPrefix(host, "*."), ":*[] ")
}
