package sandbox

import (
	"os"
	"sync"
)

// captureBuffer is how much is read at once, in bytes.
const captureBuffer = 32 << 10

// capture reads one stream of a command. It reads to the end whatever happens,
// so that a child in the background that still writes is neither blocked nor
// killed by a closed pipe; what comes after take is thrown away.
type capture struct {
	pipe *os.File
	done chan struct{} // closed when every writer has closed its end

	mu    sync.Mutex
	kept  kept
	taken bool
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
	if !c.taken {
		c.kept.add(b)
	}
}

// take gives all that was written so far. What still stands in the pipe belongs to
// it: on a busy machine the shell may have ended long before the reader gets its
// turn.
func (c *capture) take() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.settle()
	text := c.kept.text()
	c.kept, c.taken = kept{}, true
	return text
}
