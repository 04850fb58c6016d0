package sandbox

import (
	"fmt"
	"os"
	"sync"
)

// maxCapture is how much of one stream is kept, in bytes.
const maxCapture = 10 << 20

// captureBuffer is how much is read at once, in bytes.
const captureBuffer = 32 << 10

// capture reads one stream of a command. It reads to the end whatever happens,
// so that a child in the background that still writes is neither blocked nor
// killed by a closed pipe; what comes after take is thrown away.
type capture struct {
	pipe *os.File
	done chan struct{} // closed when every writer has closed its end

	mu      sync.Mutex
	kept    []byte
	dropped int64
	taken   bool
}

func newCapture(pipe *os.File) *capture { return &capture{pipe: pipe, done: make(chan struct{})} }

func (c *capture) read() {
	defer close(c.done)
	buf := make([]byte, captureBuffer)
	for {
		if err := c.next(buf); err != nil {
			_ = c.pipe.Close()
			return
		}
	}
}

// keep is called with the lock.
func (c *capture) keep(b []byte) {
	if c.taken {
		return
	}
	room := min(len(b), maxCapture-len(c.kept))
	c.kept = append(c.kept, b[:room]...)
	c.dropped += int64(len(b) - room)
}

// take gives all that was written so far. What still stands in the pipe belongs to
// it: on a busy machine the shell may have ended long before the reader gets its
// turn.
func (c *capture) take() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.settle()
	text := string(c.kept)
	if c.dropped > 0 {
		text += fmt.Sprintf("\n[output is longer than 10 MiB: %d more bytes were dropped]", c.dropped)
	}
	c.kept, c.taken = nil, true
	return text
}
