package config

import "path/filepath"

// Export says how reports are made into documents.
type Export struct {
	// PDFFonts are files of TrueType fonts (.ttf, .ttc) for characters that the
	// built-in fonts lack, such as Chinese ones; the fonts of the machine come after
	// them. Paths are absolute.
	PDFFonts []string `yaml:"pdf_fonts,omitempty"`
}

func (e *Export) setDefaults() { *e = Export{} }

func (d *decoder) checkExport(e *Export) {
	for i, file := range e.PDFFonts {
		if !filepath.IsAbs(file) {
			path := index("export.pdf_fonts", i)
			d.errorf(d.line(path), "%s: want the absolute path of a font, got %q", path, file)
		}
	}
}
