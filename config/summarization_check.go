package config

import "math"

func (d *decoder) checkSummarization(s *Summarization, models []Model) {
	const section = "summarization"
	for i, m := range s.Trigger {
		d.checkMeasure(m, index(section+".trigger", i))
	}
	d.checkMeasure(s.Keep, section+".keep")
	d.checkModelName(section+".model_name", s.ModelName, models, "summaries are written by the model of the run")
}

// checkMeasure reports an amount that its kind cannot have.
func (d *decoder) checkMeasure(m Measure, at string) {
	line := d.line(at, "value")
	switch {
	case m.Type == "", m.Value == 0 && d.lines[at+".value"] == 0: // missing or unknown: already reported
	case m.Type == "fraction" && (m.Value <= 0 || m.Value > 1):
		d.errorf(line, "%s.value: want a fraction above 0, at most 1, got %g", at, m.Value)
	case m.Type != "fraction" && (m.Value < 1 || m.Value != math.Trunc(m.Value)):
		d.errorf(line, "%s.value: want a whole number of %s, at least 1, got %g", at, m.Type, m.Value)
	}
}

// checkModelName warns of a model for a task on the side that is not configured.
func (d *decoder) checkModelName(path, name string, models []Model, instead string) {
	if name == "" {
		return
	}
	names := make([]string, len(models))
	for i := range models {
		names[i] = models[i].Name
		if names[i] == name {
			return
		}
	}
	d.warnf(d.line(path), "%s: there is no model %s, so %s%s", path, d.given(path, name), instead, didYouMean(name, names))
}
