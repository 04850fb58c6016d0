package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
)

// mostReplaced bounds how much is moved aside in one thread.
const mostReplaced = 1000

// makeDirectories makes the thread's directories below the provider's root. What a
// command has put in the place of one of them, a link or a file, is moved aside: it is
// not followed, nothing of it is lost, and the thread can go on. The notice tells the
// model, and is empty when nothing was moved.
func (l *local) makeDirectories() (notice string, err error) {
	l.provider.making.Lock() // else a directory that another call has just made is moved too
	defer l.provider.making.Unlock()
	root, err := os.OpenRoot(l.provider.root)
	if err != nil {
		return "", fmt.Errorf("%w: open the data directory: %w", ErrUnavailable, cause(err))
	}
	defer func() { _ = root.Close() }()
	var notices []string
	for _, virtual := range []string{UserData, Workspace, Uploads, Outputs} {
		dir := l.userData.sub + strings.TrimPrefix(virtual, UserData)
		moved, err := moveAside(root, dir)
		if err == nil {
			err = root.MkdirAll(dir, 0o755)
		}
		if err != nil {
			return "", fmt.Errorf("%w: make directory %s: %w", ErrUnavailable, virtual, cause(err))
		}
		if moved != "" {
			notices = append(notices, fmt.Sprintf("Note: what stood in the place of %s was no directory. It was moved aside, to %s, and the directory was made anew, empty. "+
				"Leave the directories of the sandbox where they are.", virtual, path.Join(path.Dir(virtual), moved)))
		}
	}
	return strings.Join(notices, "\n"), nil
}

// moveAside renames what stands in the place of a directory and is none. It gives the
// new name, which is empty when there was nothing to do.
func moveAside(root *os.Root, dir string) (string, error) {
	info, err := root.Lstat(dir)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.IsDir() {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	for n := range mostReplaced {
		to := fmt.Sprintf("%s.replaced-%d", dir, n+1)
		_, err := root.Lstat(to)
		if err == nil {
			continue
		}
		if errors.Is(err, fs.ErrNotExist) {
			err = root.Rename(dir, to)
		}
		return path.Base(to), err
	}
	return "", fmt.Errorf("%w: too much was put in its place before", ErrNotDirectory)
}
