package sandbox

import (
	"path"
	"strings"
)

// ignored are the names that listings and searches leave out: what tools,
// editors and builds drop, never what a person means.
var ignored = newIgnoreList(
	// version control
	".git", ".svn", ".hg", ".bzr",
	// dependencies, caches and environments
	"node_modules", "__pycache__", ".venv", "venv", ".env", "env", ".tox", ".nox", ".eggs", "*.egg-info",
	"site-packages", "*.pyc", "*.pyo",
	// build output
	"dist", "build", ".next", ".nuxt", ".output", ".turbo", "target", "out",
	// editors
	".idea", ".vscode", "*.swp", "*.swo", "*~", ".project", ".classpath", ".settings",
	// operating systems
	".DS_Store", "Thumbs.db", "desktop.ini", "*.lnk",
	// logs, temporary files, unfinished uploads and writes
	"*.log", "*.tmp", "*.temp", ".upload-*.part", "*.bak", "*.cache", ".cache", "logs",
	// coverage, tests, types, lint
	".coverage", "coverage", ".nyc_output", "htmlcov", ".pytest_cache", ".mypy_cache", ".ruff_cache",
)

type ignoreList struct {
	names    map[string]bool
	patterns []string
}

func newIgnoreList(entries ...string) ignoreList {
	l := ignoreList{names: map[string]bool{}}
	for _, e := range entries {
		if strings.ContainsAny(e, "*?[") {
			l.patterns = append(l.patterns, e)
		} else {
			l.names[e] = true
		}
	}
	return l
}

func (l ignoreList) match(name string) bool {
	if l.names[name] {
		return true
	}
	for _, p := range l.patterns {
		if ok, _ := path.Match(p, name); ok {
			return true
		}
	}
	return false
}
