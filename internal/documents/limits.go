package documents

// Bounds of a conversion.
const (
	maxOutput = 8 << 20 // bytes of Markdown
	maxPages  = 2000    // pages of a PDF, slides of a presentation

	maxEntries  = 10_000    // files in an archive
	maxUnpacked = 512 << 20 // bytes of all of them
	maxPart     = 128 << 20 // bytes of one that is read
	// maxRatio is how far an archive may shrink in all; text in XML seldom
	// reaches a twentieth.
	maxRatio    = 200
	ratioCounts = 16 << 20 // bytes; an archive that unpacks to less is never a bomb

	maxDepth = 250       // elements of XML in each other
	maxNodes = 2_000_000 // elements in memory at once, and attributes

	maxSheets  = 200
	maxRows    = 50_000 // of a sheet
	maxColumns = 200
	maxCell    = 4000 // bytes
)
