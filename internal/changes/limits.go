package changes

// Bounds of a look at the files of a thread. What is beyond them is said to be
// unknown.
const (
	MaxScanned = 5000      // files
	MaxHashed  = 256 << 10 // bytes of one file whose content is looked at
	MaxRead    = 32 << 20  // of all that are read in one look
	MaxText    = 128 << 10 // of a file of which diffs are made
	MaxTexts   = 4 << 20   // of all such files
)

// Limits are the bounds, for whoever reads the changes.
func Limits() map[string]int {
	return map[string]int{
		"max_scanned_files": MaxScanned, "max_files": MaxFiles, "max_hashed_bytes": MaxHashed, "max_text_bytes": MaxText,
		"max_total_text_bytes": MaxTexts, "max_diff_bytes": MaxDiff, "max_total_diff_bytes": MaxDiffTotal,
	}
}
