package cli

import (
	"io"
	"os"

	"github.com/mattn/go-isatty"
	"golang.org/x/term"
)

// IOStreams are the standard streams of a command. Data goes to Out, everything else to ErrOut.
type IOStreams struct {
	In          io.Reader
	Out, ErrOut io.Writer
	InIsTTY     bool
	OutIsTTY    bool
	ErrIsTTY    bool
	// Columns is the width of the terminal that ErrOut is. Nil, or a result below 1, means 80.
	Columns func() int
}

// SystemStreams are the streams of this process.
func SystemStreams() IOStreams {
	return IOStreams{
		In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr,
		InIsTTY: isTerminal(os.Stdin), OutIsTTY: isTerminal(os.Stdout), ErrIsTTY: isTerminal(os.Stderr),
		Columns: func() int {
			columns, _, err := term.GetSize(int(os.Stderr.Fd()))
			if err != nil {
				return 0
			}
			return columns
		},
	}
}

func isTerminal(f *os.File) bool {
	return isatty.IsTerminal(f.Fd()) || isatty.IsCygwinTerminal(f.Fd())
}
