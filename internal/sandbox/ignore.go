package sandbox

import (
	"io/fs"
	"path"
	"slices"
	"strings"
)

// filled are the directories that tools fill for themselves.
var filled = []string{
	// version control
	".git", ".svn", ".hg", ".bzr",
	// dependencies, caches and environments
	"node_modules", "__pycache__", ".venv", "venv", ".env", "env", ".tox", ".nox", ".eggs", "*.egg-info", "site-packages",
	".cache", ".pytest_cache", ".mypy_cache", ".ruff_cache",
}

// built are the directories that builds and editors make.
var built = []string{
	"dist", "build", ".next", ".nuxt", ".output", ".turbo", "target", "out",
	".idea", ".vscode", ".settings",
	"logs", "coverage", ".nyc_output", "htmlcov",
}

// dropped are the files that tools, editors and systems drop.
var dropped = []string{
	"*.pyc", "*.pyo",
	"*.swp", "*.swo", "*~", ".project", ".classpath",
	".DS_Store", "Thumbs.db", "desktop.ini", "*.lnk",
	"*.log", "*.tmp", "*.temp", "*.bak", "*.cache", ".coverage",
}

// underWay are uploads and writes that have not ended.
var underWay = []string{".upload-*.part", ".write-*.tmp"}

var (
	// ignored are the names that listings and searches leave out: what tools,
	// editors and builds drop, never what a person means.
	ignored         = newIgnoreList(filled, built, dropped, underWay)
	ignoredFiles    = newIgnoreList(dropped, underWay)
	filledTrees     = newIgnoreList(filled)
	unfinishedFiles = newIgnoreList(underWay)
)

// leftOut reports whether listings and searches pass over an entry of a directory,
// which is named by its virtual path. Of what is handed over, from the user or to
// them, they pass over nothing but the trees that tools fill for themselves: a site
// may well be called dist, and a log be what was asked for.
func leftOut(dir string, e fs.DirEntry) bool {
	if isHandedOver(dir) {
		return e.IsDir() && filledTrees.match(e.Name()) || unfinishedFiles.match(e.Name())
	}
	return ignored.match(e.Name())
}

// Unfinished reports whether a name is that of an upload or a write that has not
// ended.
func Unfinished(name string) bool { return unfinishedFiles.match(name) }

// unsurveyed reports whether a survey passes over an entry of a directory. It tells
// of files that only have the name of such a directory, as .env may.
func unsurveyed(dir string, e fs.DirEntry) bool {
	return leftOut(dir, e) && (e.IsDir() || ignoredFiles.match(e.Name()))
}

// isHandedOver reports whether a directory is for the user. One with a dot, such as
// that of long results, is not.
func isHandedOver(dir string) bool {
	return (within(dir, Outputs) || within(dir, Uploads)) && !strings.Contains(dir, "/.")
}

type ignoreList struct {
	names    map[string]bool
	patterns []string
}

func newIgnoreList(lists ...[]string) ignoreList {
	l := ignoreList{names: map[string]bool{}}
	for _, e := range slices.Concat(lists...) {
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
