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

// Load finds, reads and checks the config. Without any file it returns the
// defaults and a warning that says where it looked. The error joins every
// mistake that was found, each an *Error of one line; the config is then nil,
// while warnings may still be given. The process environment is left alone.
func Load(o Options) (*Config, []Warning, error) {
	if o.Getenv == nil {
		o.Getenv = os.LookupEnv
	}
	file, looked, err := find(o)
	if err != nil {
		return nil, nil, err
	}
	dir := o.resolve(".")
	if file != "" {
		dir = filepath.Dir(file)
	}
	vars, err := readDotenv(dir)
	if err != nil {
		return nil, nil, err
	}
	lookup := layered(o.Getenv, vars)
	if file == "" {
		c := Defaults()
		c.lookup = lookup
		return c, []Warning{{Msg: "no config file; the defaults with the built-in demo model are used. Looked at " +
			strings.Join(looked, ", ")}}, nil
	}
	data, err := readConfig(file)
	if err != nil {
		return nil, nil, err
	}
	return parse(file, data, lookup)
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
	return c, d.warnings(), nil
}
