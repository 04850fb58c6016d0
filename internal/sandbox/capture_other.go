//go:build !unix

package sandbox

// next waits for something to read and keeps it.
func (c *capture) next(buf []byte) error {
	n, err := c.pipe.Read(buf)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.keep(buf[:n])
	return err
}

// settle does nothing: here, what stands in the pipe is for the reader alone.
func (c *capture) settle() {}
