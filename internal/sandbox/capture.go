package sandbox

import (
	"fmt"
	"os"
	"sync"
)

// maxCapture is how much of one stream is kept, in bytes.
const maxCapture = 10 << 20

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
	buf := make([]byte, 32<<10)
	for {
		n, err := c.pipe.Read(buf)
		c.add(buf[:n])
		if err != nil {
			_ = c.pipe.Close()
			return
		}
	}
}

func (c *capture) add(b []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.taken {
		return
	}
	room := min(len(b), maxCapture-len(c.kept))
	c.kept = append(c.kept, b[:room]...)
	c.dropped += int64(len(b) - room)
}

// take gives what was read so far.
func (c *capture) take() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	text := string(c.kept)
	if c.dropped > 0 {
		text += fmt.Sprintf("\n[output is longer than 10 MiB: %d more bytes were dropped]", c.dropped)
	}
	c.kept, c.taken = nil, true
	return text
}
