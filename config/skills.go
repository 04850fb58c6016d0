package config

// skillsRoot is where tools see skills; nothing else is offered yet.
const skillsRoot = "/mnt/skills"

// Skills says where skills lie.
type Skills struct {
	// Path is the directory of skills on this machine; empty is skills beside the
	// configuration.
	Path string `yaml:"path,omitempty"`
	// ContainerPath is where tools see it (/mnt/skills). This version has no other
	// place.
	ContainerPath string `yaml:"container_path"`
	// DeferredDiscovery lists the names of skills alone in the prompt; the model
	// asks for what it needs (false).
	DeferredDiscovery bool `yaml:"deferred_discovery"`
}

func (s *Skills) setDefaults() { *s = Skills{ContainerPath: skillsRoot} }

// unusedKeys: the class that stores skills is DeerFlow's own.
func (*Skills) unusedKeys() []string { return []string{"use"} }

func (d *decoder) finishSkills(s *Skills) {
	if s.ContainerPath != skillsRoot {
		d.warnf(d.line("skills", "container_path"), "skills.container_path: this version shows skills at %s, not at %s",
			skillsRoot, d.given("skills.container_path", s.ContainerPath))
		s.ContainerPath = skillsRoot
	}
}
