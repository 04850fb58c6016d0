package changes

import (
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"deerflow/internal/sandbox"
)

// Status is what became of a file.
type Status string

// What may become of a file. A link that is new is a created file whose Link is
// set.
const (
	Created  Status = "created"
	Modified Status = "modified"
	Deleted  Status = "deleted"
)

// Why a change has no diff.
const (
	NoDiffBinary    = "binary"
	NoDiffLarge     = "large"     // one of the two texts, or the diff, is too long
	NoDiffSensitive = "sensitive" // the name is that of a file with secrets
	NoDiffTruncated = "truncated" // there is more to tell than is kept of one run
)

// Bounds of what is kept of one run.
const (
	MaxFiles     = 500
	MaxDiff      = 64 << 10  // bytes of the diff of one file
	MaxDiffTotal = 512 << 10 // bytes of all diffs
)

// File is a file that a run changed.
type File struct {
	Path         string `json:"path"` // virtual
	Root         string `json:"root"` // workspace, outputs or uploads
	Status       Status `json:"status"`
	Link         string `json:"link,omitempty"` // what a link leads to
	Binary       bool   `json:"binary"`
	Sensitive    bool   `json:"sensitive"`
	SizeBefore   *int64 `json:"size_before"` // bytes; nil: there was none
	SizeAfter    *int64 `json:"size_after"`
	SHA256Before string `json:"sha256_before,omitempty"` // empty for large files
	SHA256After  string `json:"sha256_after,omitempty"`
	Diff         string `json:"diff,omitempty"` // unified
	NoDiff       string `json:"no_diff,omitempty"`
	Additions    int    `json:"additions"` // lines
	Deletions    int    `json:"deletions"`
}

// Summary counts what changed.
type Summary struct {
	Created        int  `json:"created"`
	Modified       int  `json:"modified"`
	Deleted        int  `json:"deleted"`
	SymlinkCreated int  `json:"symlink_created"`
	Additions      int  `json:"additions"` // lines, as far as diffs could be made
	Deletions      int  `json:"deletions"`
	Truncated      bool `json:"truncated"` // not all was looked at, or is listed
}

// Changes are what a run changed.
type Changes struct {
	Summary Summary `json:"summary"`
	Files   []File  `json:"files,omitempty"`
}

// Texts gives the text of a file by the hash of its content; false when it was
// not kept.
type Texts func(hash string) (string, bool)

// Between compares two surveys. What users bring while a run works is none of
// its changes: new uploads do not count.
func Between(before, after *sandbox.Survey, oldText, newText Texts) Changes {
	c := comparison{oldText: oldText, newText: newText}
	// What is too deep was left out of both, so it makes no file look new or gone.
	c.out.Summary.Truncated = before.Partial() || after.Partial()
	i, j := 0, 0
	for i < len(before.Files) || j < len(after.Files) {
		switch {
		case j == len(after.Files) || i < len(before.Files) && sandbox.InWalkOrder(before.Files[i].Path, after.Files[j].Path) < 0:
			if !after.Truncated { // else it may be one that was not looked at
				c.add(&before.Files[i], nil)
			}
			i++
		case i == len(before.Files) || sandbox.InWalkOrder(before.Files[i].Path, after.Files[j].Path) > 0:
			if !before.Truncated && !isUpload(after.Files[j].Path) {
				c.add(nil, &after.Files[j])
			}
			j++
		default:
			if !before.Files[i].Same(&after.Files[j]) {
				c.add(&before.Files[i], &after.Files[j])
			}
			i++
			j++
		}
	}
	return c.out
}

type comparison struct {
	out              Changes
	oldText, newText Texts
	diffed           int // bytes of diffs so far
}

// add counts one change and lists it while there is room.
func (c *comparison) add(before, after *sandbox.Surveyed) {
	f := File{}
	switch {
	case before == nil:
		f.Path, f.Status, f.Link = after.Path, Created, after.Link
	case after == nil:
		f.Path, f.Status = before.Path, Deleted
	default:
		f.Path, f.Status, f.Link = after.Path, Modified, after.Link
	}
	f.Root, f.Sensitive = rootOf(f.Path), IsSensitive(f.Path)
	if before != nil {
		size := before.Size
		f.SizeBefore, f.SHA256Before, f.Binary = &size, before.Hash, before.Binary
	}
	if after != nil {
		size := after.Size
		f.SizeAfter, f.SHA256After, f.Binary = &size, after.Hash, f.Binary || after.Binary
	}
	s := &c.out.Summary
	c.diff(&f, before, after)
	switch {
	case f.Status == Created && f.Link != "":
		s.SymlinkCreated++
	case f.Status == Created:
		s.Created++
	case f.Status == Modified:
		s.Modified++
	default:
		s.Deleted++
	}
	s.Additions += f.Additions
	s.Deletions += f.Deletions
	if len(c.out.Files) == MaxFiles {
		s.Truncated = true
		return
	}
	c.out.Files = append(c.out.Files, f)
}

func isUpload(p string) bool { return strings.HasPrefix(p, sandbox.Uploads+"/") }

// rootOf names the directory of the thread that a file is in.
func rootOf(p string) string {
	rest := strings.TrimPrefix(p, sandbox.UserData+"/")
	root, _, _ := strings.Cut(rest, "/")
	return root
}

// IsSensitive reports whether a file of this name usually holds secrets. Its
// content is shown in no diff.
func IsSensitive(p string) bool {
	name := strings.ToLower(path.Base(p))
	if slices.Contains([]string{
		".env", ".netrc", ".pgpass", ".npmrc", ".pypirc", ".htpasswd", "credentials", "credentials.json", "secrets.json", "secrets.yaml", "secrets.yml",
		"id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "service-account.json",
	}, name) {
		return true
	}
	return strings.HasPrefix(name, ".env.") || slices.Contains([]string{".pem", ".key", ".p12", ".pfx", ".jks", ".keystore", ".kdbx"}, path.Ext(name))
}

// isText reports whether content can be shown in a diff.
func isText(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }
