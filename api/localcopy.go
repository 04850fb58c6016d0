package api

import (
	"context"
	"errors"
	"fmt"

	"deerflow/internal/filetree"
)

// CopyThread implements [Files].
func (l *LocalFiles) CopyThread(ctx context.Context, from, to FileOwner) error {
	source, err := l.root(from, false)
	if errors.Is(err, ErrFileNotFound) {
		return nil // it has no files yet
	}
	if err != nil {
		return err
	}
	defer func() { _ = source.Close() }()
	target, err := l.root(to, true)
	if err != nil {
		return err
	}
	defer func() { _ = target.Close() }()
	if err := filetree.Copy(ctx, source, target); err != nil {
		return fmt.Errorf("copy the files of thread %s: %w", from.Thread, err)
	}
	return nil
}
