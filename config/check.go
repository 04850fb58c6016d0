package config

import (
	"reflect"

	"gopkg.in/yaml.v3"
)

func newDecoder(file string, lookup Lookup) *decoder {
	return &decoder{
		problems: problems{file: file},
		lookup:   lookup,
		lines:    map[string]int{},
		origins:  map[string]string{},
		raw:      map[*yaml.Node]string{},
		unset:    map[*yaml.Node]bool{},
	}
}

// config decodes the top mapping into c, which holds the defaults, and checks
// what one field means for another.
func (d *decoder) config(root *yaml.Node, c *Config) {
	d.structure(d.root(root), "", reflect.ValueOf(c).Elem())
	d.checkVersion(c)
	d.finishModels(c)
	d.finishTools(c)
	d.finishSandbox(&c.Sandbox)
	d.checkLoop(&c.LoopDetection)
	d.finishToolOutput(&c.ToolOutput)
	d.checkTitle(&c.Title, c.Models)
	d.finishTokenBudget(&c.TokenBudget)
	d.finishSafety(&c.SafetyFinishReason)
	d.checkSummarization(&c.Summarization, c.Models)
	d.finishSkills(&c.Skills)
	d.checkSubagents(&c.Subagents)
	d.finishGuardrails(&c.Guardrails)
	d.checkServer(&c.Server)
	d.checkExport(&c.Export)
	d.checkURL("frontend_url", c.FrontendURL)
	d.unused.warn(d, "settings that this version does not use are ignored")
}

func (d *decoder) checkVersion(c *Config) {
	line := d.lines["config_version"]
	switch {
	case line == 0: // small files of our own need not say it
	case c.Version < CurrentVersion:
		d.warnf(line, "config_version is %d, the current one is %d: compare with config.example.yaml; "+
			"nothing is changed in your file", c.Version, CurrentVersion)
	case c.Version > CurrentVersion:
		d.warnf(line, "config_version is %d, newer than %d, which this program knows", c.Version, CurrentVersion)
	}
}
