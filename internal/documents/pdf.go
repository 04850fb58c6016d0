package documents

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"

	"github.com/klippa-app/go-pdfium"
	pdfium_errors "github.com/klippa-app/go-pdfium/errors"
	"github.com/klippa-app/go-pdfium/references"
	"github.com/klippa-app/go-pdfium/requests"
	"github.com/klippa-app/go-pdfium/webassembly"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
)

const (
	// engineMemory bounds the PDF engine, in pages of 64 KiB.
	engineMemory = 8192
	// engineStart is how long it may take to compile the engine, which a busy
	// machine does slowly.
	engineStart = time.Minute
	// sparse is how few letters a page of a document has that is scanned, see
	// [weight].
	sparse = 50
)

// readPDF reads with PDFium. It runs as WebAssembly, which reaches nothing
// outside of its own memory.
func readPDF(ctx context.Context, s source) (Document, error) {
	engine, stop, err := startEngine(ctx, s.o.CacheDir)
	if err != nil {
		return Document{}, err
	}
	defer stop()
	opened, err := engine.OpenDocument(&requests.OpenDocument{FileReader: io.NewSectionReader(s.r, 0, s.size), FileReaderSize: s.size})
	if errors.Is(err, pdfium_errors.ErrPassword) || errors.Is(err, pdfium_errors.ErrSecurity) {
		return Document{}, errProtected
	}
	if err != nil {
		return Document{}, err
	}
	count, err := engine.FPDF_GetPageCount(&requests.FPDF_GetPageCount{Document: opened.Document})
	if err != nil {
		return Document{}, err
	}
	p := pdf{engine: engine, document: opened.Document}
	doc := Document{Pages: count.PageCount}
	read := min(count.PageCount, maxPages)
	for i := range read {
		if err := ctx.Err(); err != nil {
			return Document{}, err
		}
		if p.size > maxOutput {
			read = i
			break
		}
		p.page(i)
	}
	if len(p.pages) > 0 && p.failed == len(p.pages) {
		return Document{}, refuse("none of its %d pages can be read", read)
	}
	if read < count.PageCount {
		doc.warn(fmt.Sprintf("Only the first %d of %d pages were read.", read, count.PageCount))
	}
	if p.failed > 0 {
		doc.warn(fmt.Sprintf("%d of %d pages are damaged and could not be read.", p.failed, read))
	}
	if read > 0 && p.letters < sparse*read {
		doc.warn(scanned(count.PageCount))
	}
	doc.Markdown = p.markdown()
	return doc, nil
}

// startEngine starts PDFium. The compiled code is kept in a directory.
func startEngine(ctx context.Context, cacheDir string) (pdfium.Pdfium, func(), error) {
	config := wazero.NewRuntimeConfig().
		WithCoreFeatures(api.CoreFeaturesV2 | experimental.CoreFeaturesExceptionHandling).
		WithMemoryLimitPages(engineMemory).
		WithCloseOnContextDone(true)
	if cacheDir != "" {
		// A cache that cannot be used costs time, nothing else.
		if cache, err := wazero.NewCompilationCacheWithDir(cacheDir); err == nil {
			config = config.WithCompilationCache(cache)
		}
	}
	pool, err := webassembly.Init(webassembly.Config{
		Context: ctx, MinIdle: 0, MaxIdle: 1, MaxTotal: 1, RuntimeConfig: config,
		FSConfig: wazero.NewFSConfig(), RandomSource: rand.Reader, Stdout: io.Discard, Stderr: io.Discard,
	})
	if err != nil {
		return nil, nil, &setupError{fmt.Errorf("start the PDF engine: %w", err)}
	}
	engine, err := pool.GetInstance(engineStart)
	if err != nil {
		return nil, nil, &setupError{errors.Join(fmt.Errorf("start the PDF engine: %w", err), pool.Close())}
	}
	return engine, func() {
		_ = engine.Close() // nothing of it is needed any more
		_ = pool.Close()
	}, nil
}

// pdf is a document that is being read, page by page.
type pdf struct {
	engine   pdfium.Pdfium
	document references.FPDF_DOCUMENT
	pages    []pdfPage
	failed   int
	letters  int // by their weight
	size     int // bytes of text
}

// pdfPage is the text of a page, and how large its lines are set.
type pdfPage struct {
	lines []string
	looks map[string]look // by the letters of a line
}

// page reads a page, with index i. One that is damaged is empty.
func (p *pdf) page(i int) {
	p.pages = append(p.pages, pdfPage{})
	at := requests.Page{ByIndex: &requests.PageByIndex{Document: p.document, Index: i}}
	text, err := p.engine.GetPageText(&requests.GetPageText{Page: at})
	if err != nil {
		p.failed++
		return
	}
	page := &p.pages[i]
	page.lines = pageLines(text.Text)
	for _, line := range page.lines {
		p.size += len(line)
		p.letters += weight(line)
	}
	structured, err := p.engine.GetPageTextStructured(&requests.GetPageTextStructured{
		Page: at, Mode: requests.GetPageTextStructuredModeRects, CollectFontInformation: true,
	})
	if err == nil { // else it has no headings
		page.looks = looksOf(structured.Rects)
	}
}

// scanned is what to know of a document that is pictures of text.
func scanned(pages int) string {
	if pages == 1 {
		return "The document has hardly any text on its one page: it is probably scanned, and what is in the picture is missing here."
	}
	return fmt.Sprintf("The document has hardly any text on its %d pages: they are probably scanned, and what is in the pictures is missing here.", pages)
}

// weight counts the letters of a line. Those of scripts that write a syllable or a
// word with one count twice: such a text says as much with half of them.
func weight(line string) int {
	n := 0
	for _, r := range squeeze(line) {
		n++
		if unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul) {
			n++
		}
	}
	return n
}

// pageLines are the lines of a page. Words that were cut at the end of a line are
// joined.
func pageLines(text string) []string {
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
	text = strings.NewReplacer("\x02\n", "", "\ufffe\n", "", "\x02", "", "\ufffe", "", "\f", "\n").Replace(text)
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, text)
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		lines = append(lines, strings.TrimRight(line, " \t"))
	}
	return lines
}
