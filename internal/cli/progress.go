package cli

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// Mark is the sign before a line of progress.
type Mark string

// The marks.
const (
	MarkStart Mark = "•"
	MarkDone  Mark = "✓"
	MarkFail  Mark = "✗"
	MarkAgain Mark = "↻"
	MarkWarn  Mark = "!"
	MarkNone  Mark = " "
)

const (
	redrawEvery    = 100 * time.Millisecond
	defaultColumns = 80
	// liveLines is how many lines of a model's text are shown while it is written.
	liveLines = 4
	// maxLine keeps a line of progress readable; longer ones are cut.
	maxLine = 160
)

// ProgressOptions configure a [Progress].
type ProgressOptions struct {
	Streams IOStreams
	Env     func(string) string
	Quiet   bool // only notes are shown
	// Now is the clock of the elapsed times; time.Now when nil.
	Now func() time.Time
}

// Progress writes what is going on to ErrOut: lines that stay and, on a terminal, a live region below them with a
// spinner and the text that a model is writing, which is gone when the text is complete. It is safe for concurrent use.
type Progress struct {
	o     ProgressOptions
	w     io.Writer
	style Style
	live  bool

	mu     sync.Mutex
	status string // what the spinner says; empty: no spinner
	since  time.Time
	text   strings.Builder
	drawn  int // lines of the live region on the screen
	turn   int // of the spinner

	quit chan struct{}
	done chan struct{}
}

// NewProgress makes a Progress. Close it before the command ends.
func NewProgress(o ProgressOptions) *Progress {
	if o.Now == nil {
		o.Now = time.Now
	}
	p := &Progress{o: o, w: o.Streams.ErrOut, quit: make(chan struct{}), done: make(chan struct{})}
	p.style, p.live = Terminal(o.Streams, o.Env)
	if p.live = p.live && !o.Quiet; !p.live {
		close(p.done)
		return p
	}
	go p.redraw()
	return p
}

func (p *Progress) redraw() {
	defer close(p.done)
	tick := time.NewTicker(redrawEvery)
	defer tick.Stop()
	for {
		select {
		case <-p.quit:
			return
		case <-tick.C:
			p.tick()
		}
	}
}

// Close takes the live region away.
func (p *Progress) Close() {
	close(p.quit)
	<-p.done
	p.Idle()
}

// Style is how text for ErrOut is coloured.
func (p *Progress) Style() Style { return p.style }

// Step adds a line: a mark, then text from anywhere, which is made safe to show, then a dim detail.
func (p *Progress) Step(mark Mark, text, detail string) {
	if p.o.Quiet {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.erase()
	line := p.mark(mark) + " " + Cut(Clean(text), maxLine)
	if detail = Cut(Clean(detail), maxLine); detail != "" {
		line += " " + p.style.Dim(detail)
	}
	p.print(line + "\n")
}

func (p *Progress) mark(m Mark) string {
	switch m {
	case MarkDone:
		return p.style.Green(string(m))
	case MarkFail:
		return p.style.Red(string(m))
	case MarkAgain, MarkWarn:
		return p.style.Yellow(string(m))
	default:
		return p.style.Dim(string(m))
	}
}

// Info adds lines that only progress wants: quiet leaves them out.
func (p *Progress) Info(format string, args ...any) {
	if !p.o.Quiet {
		p.Note(format, args...)
	}
}

// Note adds lines that a person has to see, quiet or not.
func (p *Progress) Note(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.erase()
	p.print(CleanLines(fmt.Sprintf(format, args...)) + "\n")
}

// Prompt writes text and leaves the cursor behind it. The live region stays away until the next Status.
func (p *Progress) Prompt(text string) {
	p.Idle()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.print(text)
}

// Status says in the live region what is waited for, and drops the text that is shown there.
func (p *Progress) Status(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.status, p.since = Clean(fmt.Sprintf(format, args...)), p.o.Now()
	p.text.Reset()
}

// Text adds a piece of the text that a model is writing.
func (p *Progress) Text(piece string) {
	if !p.live {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.text.WriteString(CleanLines(piece))
}

// Idle takes the live region away until the next Status.
func (p *Progress) Idle() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.erase()
	p.status = ""
	p.text.Reset()
}

// tick redraws the live region.
func (p *Progress) tick() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.erase()
	if p.status == "" {
		return
	}
	const frames = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
	p.turn = (p.turn + 1) % len([]rune(frames))
	columns := p.columns()
	var lines []string
	if text := p.text.String(); strings.TrimSpace(text) != "" {
		for _, line := range tail(text, columns-3, liveLines) {
			lines = append(lines, "  "+p.style.Dim(line))
		}
	}
	spinner := fmt.Sprintf("%c %s", []rune(frames)[p.turn], p.status)
	elapsed := p.o.Now().Sub(p.since).Truncate(time.Second)
	lines = append(lines, Cut(spinner, columns-12)+" "+p.style.Dim(elapsed.String()))
	p.print(strings.Join(lines, "\n"))
	p.drawn = len(lines)
}

// erase removes the live region: the cursor stands at the end of its last line.
func (p *Progress) erase() {
	if p.drawn == 0 {
		return
	}
	p.print("\r\x1b[2K" + strings.Repeat("\x1b[1A\x1b[2K", p.drawn-1))
	p.drawn = 0
}

func (p *Progress) columns() int {
	if p.o.Streams.Columns != nil {
		if n := p.o.Streams.Columns(); n > 0 {
			return max(n, 20)
		}
	}
	return defaultColumns
}

// print writes to the terminal. A terminal that is gone is no reason to give a run up.
func (p *Progress) print(s string) { _, _ = io.WriteString(p.w, s) }
