package web

import (
	"context"
	"fmt"
	"math"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Options are what the entry of a tool says, read when a call begins. A value that
// makes no sense is taken as missing, with a warning.
type Options struct {
	Provider string
	Tool     string
	// Values are the further keys of the entry. YAML, JSON and variables of the
	// environment give different types.
	Values map[string]any
	// Siblings are those of other entries of the same provider, in order: a key
	// that one of them has serves all.
	Siblings []map[string]any
	Client   *Client
	// Getenv reads a variable, "" for none; nil has none.
	Getenv func(name string) string
	// Warn tells the operator something; nil tells nobody.
	Warn func(text string)
}

// revealer is a value that is not shown when it is printed.
type revealer interface{ Reveal() string }

// Text is a text without the space around it, "" for none.
func (o Options) Text(name string) string { return textOf(o.Values[name]) }

func textOf(value any) string {
	switch v := value.(type) {
	case string:
		return strings.TrimSpace(v)
	case revealer:
		return strings.TrimSpace(v.Reveal())
	case int, int64, float64:
		return fmt.Sprint(v)
	}
	return ""
}

// Key is the key of a service: that of the entry, that of another entry of the
// provider, or that in the variable. Space alone is no key. The names are those
// of the option, api_key unless others are given. Without a key it is "".
func (o Options) Key(env string, names ...string) string {
	if len(names) == 0 {
		names = []string{"api_key"}
	}
	for _, values := range append([]map[string]any{o.Values}, o.Siblings...) {
		for _, name := range names {
			if v, isText := values[name].(string); isText && strings.TrimSpace(v) != "" {
				return strings.TrimSpace(v)
			}
			if v, isSecret := values[name].(revealer); isSecret && strings.TrimSpace(v.Reveal()) != "" {
				return strings.TrimSpace(v.Reveal())
			}
		}
	}
	if o.Getenv == nil || env == "" {
		return ""
	}
	return strings.TrimSpace(o.Getenv(env))
}

// NeedKey is [Options.Key] with an error, [NotConfigured], in place of no key.
func (o Options) NeedKey(env string, names ...string) (string, error) {
	key := o.Key(env, names...)
	if key == "" {
		return "", NotConfigured(env)
	}
	return key, nil
}

// Int is a whole number from 1 to most. One that is larger becomes most; nothing,
// less than 1 or no number is the default.
func (o Options) Int(name string, standard, most int) int {
	value, there := o.Values[name]
	if !there || value == nil {
		return standard
	}
	n, ok := number(value)
	if !ok || n < 1 {
		o.warnf("%s of %v is no whole number above 0, %d is used", name, o.shown(value), standard)
		return standard
	}
	return int(min(n, float64(most)))
}

// Count is how many results to ask for: max_results of the entry, else what the
// model wants, else the default; at most most.
func (o Options) Count(q Query, standard, most int) int {
	if q.Max > 0 {
		standard = min(q.Max, most)
	}
	return o.Int("max_results", standard, most)
}

// Bool is true for true and the text "true", "yes", "on" or "1".
func (o Options) Bool(name string) bool {
	switch v := o.Values[name].(type) {
	case bool:
		return v
	case int:
		return v == 1
	}
	switch strings.ToLower(o.Text(name)) {
	case "true", "yes", "on", "1":
		return true
	}
	return false
}

// Off is true for what an entry turns off in so many words: false, "false", "no",
// "off" or 0.
func (o Options) Off(name string) bool {
	switch v := o.Values[name].(type) {
	case bool:
		return !v
	case int:
		return v == 0
	}
	switch strings.ToLower(o.Text(name)) {
	case "false", "no", "off", "0":
		return true
	}
	return false
}

// Bounds of a time that an entry sets.
const maxSeconds = 180

// Seconds is a time in seconds, at most 3 minutes. A truth value (off in YAML is
// one), text that is no number, nothing, and 0 are the default.
func (o Options) Seconds(name string, standard time.Duration) time.Duration {
	value, there := o.Values[name]
	if !there || value == nil {
		return standard
	}
	n, ok := number(value)
	if !ok || n <= 0 {
		o.warnf("%s of %v is no number of seconds, %s is used", name, o.shown(value), standard)
		return standard
	}
	return time.Duration(min(n, maxSeconds) * float64(time.Second))
}

// List is a list of texts, or one text with commas in it.
func (o Options) List(name string) []string {
	var parts []string
	switch v := o.Values[name].(type) {
	case []any:
		for _, item := range v {
			parts = append(parts, textOf(item))
		}
	case []string:
		parts = append(parts, v...)
	default:
		parts = strings.Split(o.Text(name), ",")
	}
	var list []string
	for _, part := range parts {
		if part = strings.TrimSpace(part); part != "" {
			list = append(list, part)
		}
	}
	return list
}

// BaseURL is where the service is, without a slash at the end: base_url of the
// entry, else the default. The operator may name any address.
func (o Options) BaseURL(standard string) string {
	text := o.Text("base_url")
	if text == "" {
		return strings.TrimRight(standard, "/")
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		o.warnf("base_url is no address with http or https, %s is used", standard)
		return strings.TrimRight(standard, "/")
	}
	return strings.TrimRight(text, "/")
}

// Check refuses an address of a page that must not be visited, as the entry
// allows: see [Client.Check].
func (o Options) Check(ctx context.Context, address string) error {
	_, err := o.Client.Check(ctx, address, o.policy())
	return err
}

func (o Options) policy() Policy {
	return Policy{AllowPrivate: o.Bool("allow_private_addresses"), Allow: o.List("allowed_hosts")}
}

// Warnf tells the operator something about the entry.
func (o Options) warnf(format string, args ...any) {
	if o.Warn != nil {
		o.Warn(fmt.Sprintf("%s (%s): ", o.Tool, o.Provider) + fmt.Sprintf(format, args...))
	}
}

// shown is a value in a warning; what is kept secret stays so.
func (o Options) shown(value any) string { return fmt.Sprintf("%.40q", fmt.Sprint(value)) }

// number reads a number; a truth value is none.
func number(value any) (float64, bool) {
	n, err := strconv.ParseFloat(textOf(value), 64)
	return n, err == nil && !math.IsNaN(n)
}
