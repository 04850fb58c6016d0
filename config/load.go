package config

import (
	"os"
	"path/filepath"
	"strings"
)

// Options say where a config comes from.
type Options struct {
	// Path is the file that the user named; empty to look for one: the
	// variables DEERFLOW_CONFIG and DEER_FLOW_CONFIG_PATH, then config.yaml in
	// Dir.
	Path string
	// Getenv reads the real environment; nil means os.LookupEnv.
	Getenv Lookup
	// Dir is what relative paths start from; empty means the working directory.
	Dir string
}

func (o Options) resolve(path string) string {
	if filepath.IsAbs(path) || o.Dir == "" {
		return path
	}
	return filepath.Join(o.Dir, path)
}

func (o Options) withDefaults() Options {
	if o.Getenv == nil {
		o.Getenv = os.LookupEnv
	}
	return o
}

// Load finds, reads and checks the config. Without any file it returns the
// defaults and a warning that says where it looked. The error joins every
// mistake that was found, each an *Error of one line; the config is then nil,
// while warnings may still be given. The process environment is left alone.
func Load(o Options) (*Config, []Warning, error) {
	o = o.withDefaults()
	at, err := locate(o)
	if err != nil {
		return nil, nil, err
	}
	text, err := at.read()
	if err != nil {
		return nil, nil, err
	}
	return text.parse(o.Getenv)
}

// place says which files a config is made of.
type place struct {
	config string   // empty when there is none
	dotenv string   // may not exist
	looked []string // what was looked at when there is none
}

func locate(o Options) (place, error) {
	file, looked, err := find(o)
	if err != nil {
		return place{}, err
	}
	dir := o.resolve(".")
	if file != "" {
		dir = filepath.Dir(file)
	}
	return place{config: file, dotenv: filepath.Join(dir, dotenvName), looked: looked}, nil
}

// text is what the files of a place held at a time.
type text struct {
	place
	data []byte
	vars []byte
}

func (p place) read() (t text, err error) {
	t.place = p
	if t.vars, err = readVars(p.dotenv); err != nil || p.config == "" {
		return t, err
	}
	t.data, err = readConfig(p.config)
	return t, err
}

func (t text) parse(env Lookup) (*Config, []Warning, error) {
	vars, err := parseDotenv(t.dotenv, t.vars)
	if err != nil {
		return nil, nil, err
	}
	lookup := layered(env, vars)
	if t.config == "" {
		c := Defaults()
		c.lookup = lookup
		return c, []Warning{{Msg: "no config file; the defaults with the built-in demo model are used. Looked at " +
			strings.Join(t.looked, ", ")}}, nil
	}
	return parse(t.config, t.data, lookup)
}

// parse turns the bytes of a config file into a Config.
func parse(file string, data []byte, lookup Lookup) (*Config, []Warning, error) {
	d := newDecoder(file, lookup)
	c := &Config{Path: file, lookup: lookup}
	c.setDefaults()
	if root := d.document(data); root != nil {
		d.expand(root, "", newExpansion())
		d.config(root, c)
	}
	if err := d.err(); err != nil {
		return nil, d.warnings(), err
	}
	c.origins = origins{lines: d.lines, raw: d.origins}
	return c, d.warnings(), nil
}
