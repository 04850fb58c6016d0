package documents

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"deerflow/internal/thread"
)

// Child converts each document in a process of its own, which it starts, bounds
// and ends. It may be used by several goroutines at once.
type Child struct {
	o     ChildOptions
	slots chan struct{}
}

// ChildOptions configure [NewChild].
type ChildOptions struct {
	// Command is the program and its arguments; it calls [Serve].
	Command []string
	Options Options
	// Timeout bounds one conversion; 2 minutes when zero.
	Timeout time.Duration
	// AtOnce is how many documents are converted at once; 2 when zero.
	AtOnce int
}

// NewChild makes a converter.
func NewChild(o ChildOptions) *Child {
	if o.Timeout <= 0 {
		o.Timeout = 2 * time.Minute
	}
	if o.AtOnce <= 0 {
		o.AtOnce = 2
	}
	return &Child{o: o, slots: make(chan struct{}, o.AtOnce)}
}

// order is what the child is asked to do; the document is its standard input.
type order struct {
	Name    string        `json:"name"`
	Options Options       `json:"options"`
	Timeout time.Duration `json:"timeout"`
}

// outcome is the first line of what the child answers; the Markdown follows.
type outcome struct {
	Pages   int    `json:"pages,omitempty"`
	Warning string `json:"warning,omitempty"`
	Reason  string `json:"reason,omitempty"` // of a ConversionError
	Detail  string `json:"detail,omitempty"` // of its cause
	Error   string `json:"error,omitempty"`  // of anything else
}

// Convert is like the function [Convert]. A document that crashes its reader, or
// that takes too long, is a [*ConversionError] too.
func (c *Child) Convert(ctx context.Context, name string, r io.ReadSeeker) (Document, error) {
	select {
	case c.slots <- struct{}{}:
		defer func() { <-c.slots }()
	case <-ctx.Done():
		return Document{}, ctx.Err()
	}
	f, done, err := spool(r)
	if err != nil {
		return Document{}, err
	}
	defer done()
	limited, cancel := context.WithTimeout(ctx, c.o.Timeout)
	defer cancel()
	doc, err := c.run(limited, name, f)
	switch {
	case ctx.Err() != nil:
		return Document{}, ctx.Err()
	case limited.Err() != nil:
		return Document{}, refuse("it took longer than %s", c.o.Timeout)
	}
	return doc, err
}

// spool gives a file that holds the document: the one it comes from, if it is one.
func spool(r io.ReadSeeker) (*os.File, func(), error) {
	if _, err := r.Seek(0, io.SeekStart); err != nil {
		return nil, nil, fmt.Errorf("read the document: %w", err)
	}
	if f, ok := r.(*os.File); ok {
		return f, func() {}, nil
	}
	f, err := os.CreateTemp("", "deerflow-document-")
	if err != nil {
		return nil, nil, fmt.Errorf("keep the document while it is converted: %w", err)
	}
	done := func() {
		_ = f.Close() // it was only read
		_ = os.Remove(f.Name())
	}
	_, err = io.Copy(f, r)
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		done()
		return nil, nil, fmt.Errorf("keep the document while it is converted: %w", err)
	}
	return f, done, nil
}

func (c *Child) run(ctx context.Context, name string, document *os.File) (Document, error) {
	work, err := json.Marshal(order{Name: name, Options: c.o.Options, Timeout: c.o.Timeout})
	if err != nil {
		return Document{}, err
	}
	args := append(append([]string{}, c.o.Command[1:]...), string(work))
	cmd := exec.CommandContext(ctx, c.o.Command[0], args...) //nolint:gosec // a program of the product
	cmd.Stdin = document
	// It gets no secrets of this process.
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "TMPDIR=" + os.TempDir()}
	inOwnGroup(cmd)
	cmd.WaitDelay = 2 * time.Second
	answer := &kept{limit: maxOutput + 1<<20}
	complaint := &kept{limit: 4 << 10}
	cmd.Stdout, cmd.Stderr = answer, complaint
	if err := cmd.Run(); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			return Document{}, fmt.Errorf("start the converter: %w", err)
		}
		return Document{}, &ConversionError{Reason: "it crashes its reader", Err: errors.New(firstLine(complaint.String(), exit.String()))}
	}
	return answer.document()
}

func firstLine(lines ...string) string {
	for _, text := range lines {
		if line, _, _ := strings.Cut(strings.TrimSpace(text), "\n"); line != "" {
			return line
		}
	}
	return "no reason given"
}

// kept keeps the beginning of what is written to it.
type kept struct {
	bytes.Buffer
	limit int
}

func (k *kept) Write(p []byte) (int, error) {
	k.Buffer.Write(p[:min(len(p), max(k.limit-k.Len(), 0))])
	return len(p), nil
}

// document reads the answer of the child.
func (k *kept) document() (Document, error) {
	head, text, found := bytes.Cut(k.Bytes(), []byte("\n"))
	var out outcome
	if err := json.Unmarshal(head, &out); err != nil || !found {
		return Document{}, refuse("its reader gave no answer")
	}
	switch {
	case out.Reason != "" && out.Detail != "":
		return Document{}, &ConversionError{Reason: out.Reason, Err: errors.New(out.Detail)}
	case out.Reason != "":
		return Document{}, &ConversionError{Reason: out.Reason}
	case out.Error != "":
		return Document{}, fmt.Errorf("convert the document: %s", out.Error)
	}
	return Document{Markdown: string(text), Pages: out.Pages, Warning: out.Warning}, nil
}

// Serve is the work of the child: it converts the document that is its standard
// input, a file, as the order says.
func Serve(ctx context.Context, work string, in *os.File, w io.Writer) error {
	var o order
	if err := json.Unmarshal([]byte(work), &o); err != nil {
		return fmt.Errorf("read the order of a conversion: %w", err)
	}
	limitSelf(o.Timeout)
	info, err := in.Stat()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	doc, err := Convert(ctx, o.Name, in, info.Size(), o.Options)
	out := outcome{Pages: doc.Pages, Warning: doc.Warning}
	var fault *ConversionError
	switch {
	case errors.As(err, &fault):
		out.Reason = fault.Reason
		if fault.Err != nil {
			out.Detail = thread.Shorten(fault.Err.Error(), 300)
		}
	case err != nil:
		out.Error = thread.Shorten(err.Error(), 300)
	}
	head, err := json.Marshal(out)
	if err != nil {
		return err
	}
	b := bufio.NewWriter(w)
	_, _ = b.Write(append(head, '\n')) // Flush has the error
	_, _ = b.WriteString(doc.Markdown)
	return b.Flush()
}
