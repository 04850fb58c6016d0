package sandbox

import (
	"fmt"
	"sync"
)

// maxCapture is how much of one stream is kept, in bytes.
const maxCapture = 10 << 20

// Output keeps the first 10 MiB of what is written to it, counts the rest, and
// never fails, so that what writes is not held up. It may be used by several
// goroutines at once; the zero value is ready.
type Output struct {
	mu   sync.Mutex
	kept kept
}

// Write keeps what there is room for.
func (o *Output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.kept.add(b)
	return len(b), nil
}

// String is what was written so far, and how much was dropped.
func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.kept.text()
}

// kept is the beginning of a stream.
type kept struct {
	bytes   []byte
	dropped int64
}

func (k *kept) add(b []byte) {
	room := min(len(b), maxCapture-len(k.bytes))
	k.bytes = append(k.bytes, b[:room]...)
	k.dropped += int64(len(b) - room)
}

func (k *kept) text() string {
	text := string(k.bytes)
	if k.dropped > 0 {
		text += fmt.Sprintf("\n[output is longer than 10 MiB: %d more bytes were dropped]", k.dropped)
	}
	return text
}
