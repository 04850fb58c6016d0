package tools

import (
	"context"
	"fmt"
	"io"

	"deerflow/internal/sandbox"
)

// awaySandbox is a sandbox whose host has gone.
type awaySandbox struct{ sandbox.Sandbox }

var errAway = fmt.Errorf("%w: its host is gone", sandbox.ErrUnavailable)

func (awaySandbox) Stat(context.Context, string) (sandbox.Info, error) {
	return sandbox.Info{}, errAway
}

func (awaySandbox) Open(context.Context, string) (io.ReadSeekCloser, sandbox.Info, error) {
	return nil, sandbox.Info{}, errAway
}

func (awaySandbox) ReadFile(context.Context, string, sandbox.ReadOptions) (sandbox.ReadResult, error) {
	return sandbox.ReadResult{}, errAway
}

func (awaySandbox) WriteFile(context.Context, string, io.Reader, sandbox.WriteOptions) (sandbox.WriteResult, error) {
	return sandbox.WriteResult{}, errAway
}

func (awaySandbox) Edit(context.Context, string, func([]byte) ([]byte, error), sandbox.WriteOptions) (sandbox.WriteResult, error) {
	return sandbox.WriteResult{}, errAway
}

func (awaySandbox) List(context.Context, string) (sandbox.Listing, error) {
	return sandbox.Listing{}, errAway
}

func (awaySandbox) Glob(context.Context, string, sandbox.GlobOptions) (sandbox.Listing, error) {
	return sandbox.Listing{}, errAway
}

func (awaySandbox) Grep(context.Context, string, sandbox.GrepOptions) (sandbox.GrepResult, error) {
	return sandbox.GrepResult{}, errAway
}

func (awaySandbox) Exec(context.Context, sandbox.Command) (sandbox.ExecResult, error) {
	return sandbox.ExecResult{}, errAway
}
