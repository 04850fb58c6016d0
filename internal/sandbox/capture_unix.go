//go:build unix

package sandbox

import (
	"errors"
	"io"
	"syscall"
)

// mostSettled bounds what settle reads: more than a pipe holds, in bytes. A child
// in the background may write for ever.
const mostSettled = 1 << 20

// next waits for something to read and keeps it. Both are one step under the
// lock, so that nothing is ever on its way between the pipe and what is kept.
func (c *capture) next(buf []byte) error {
	raw, err := c.pipe.SyscallConn()
	if err != nil {
		return err
	}
	var got error
	err = raw.Read(func(fd uintptr) bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		_, got = c.readNow(int(fd), buf)
		return !errors.Is(got, syscall.EAGAIN)
	})
	if err != nil {
		return err
	}
	return got
}

// settle keeps what stands in the pipe, without waiting. It is called with the
// lock.
func (c *capture) settle() {
	raw, err := c.pipe.SyscallConn()
	if err != nil {
		return
	}
	// An error means that the reader has come to the end and closed the pipe.
	_ = raw.Control(func(fd uintptr) {
		buf := make([]byte, captureBuffer)
		for read := 0; read < mostSettled; {
			n, err := c.readNow(int(fd), buf)
			if err != nil {
				return
			}
			read += n
		}
	})
}

// readNow reads what is there; nothing is an EAGAIN.
func (c *capture) readNow(fd int, buf []byte) (int, error) {
	for {
		n, err := syscall.Read(fd, buf)
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case err != nil:
			return 0, err
		case n == 0:
			return 0, io.EOF
		}
		c.keep(buf[:n])
		return n, nil
	}
}
