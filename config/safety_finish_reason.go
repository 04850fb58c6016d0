package config

import "strings"

// SafetyFinishReason ends runs whose provider stopped an answer for safety. What
// every provider says for that (content_filter, refusal, SAFETY and their like)
// is known without a setting.
type SafetyFinishReason struct {
	Enabled bool `yaml:"enabled"` // true
	// Detectors add finish reasons that mean the same. A list that is missing or
	// null adds none; an empty one is an error, since it would look like off.
	Detectors []SafetyDetector `yaml:"detectors,omitempty"`
}

// SafetyDetector names finish reasons of a kind of provider.
type SafetyDetector struct {
	// Use is openai_compatible, anthropic or gemini. The class paths of DeerFlow's
	// detectors are accepted too.
	Use    string               `yaml:"use" conf:"required"`
	Config SafetyDetectorConfig `yaml:"config,omitempty"`
}

// SafetyDetectorConfig are the settings of a detector.
type SafetyDetectorConfig struct {
	// Reasons are compared without regard to case.
	Reasons []string `yaml:"finish_reasons,omitempty" conf:"alias=stop_reasons|reasons"`
}

func (s *SafetyFinishReason) setDefaults() { *s = SafetyFinishReason{Enabled: true} }

// Reasons are those of all detectors, lower case.
func (s *SafetyFinishReason) Reasons() []string {
	var all []string
	for _, detector := range s.Detectors {
		for _, reason := range detector.Config.Reasons {
			all = append(all, strings.ToLower(strings.TrimSpace(reason)))
		}
	}
	return all
}

// safetyDetectors are the kinds, each with a word that DeerFlow's class has.
func safetyDetectors() [][2]string {
	return [][2]string{{"openai_compatible", "OpenAI"}, {"anthropic", "Anthropic"}, {"gemini", "Gemini"}}
}

func (d *decoder) finishSafety(s *SafetyFinishReason) {
	const section = "safety_finish_reason"
	if s.Detectors != nil && len(s.Detectors) == 0 {
		d.errorf(d.line(section, "detectors"), "%s.detectors: the list is empty; leave it out for the built-in ones, or set enabled: false", section)
	}
	for i := range s.Detectors {
		detector := &s.Detectors[i]
		if kind := detector.kind(); kind != "" {
			detector.Use = kind
		} else if detector.Use != "" {
			d.errorf(d.line(section, "detectors"), "%s.detectors: unknown detector %q; this version has: openai_compatible, anthropic, gemini", section, detector.Use)
		}
	}
}

// kind is the detector's own name, empty for one that is not known.
func (s *SafetyDetector) kind() string {
	_, class, path := strings.Cut(s.Use, ":")
	for _, k := range safetyDetectors() {
		if s.Use == k[0] || path && strings.Contains(class, k[1]) {
			return k[0]
		}
	}
	return ""
}
