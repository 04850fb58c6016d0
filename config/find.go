package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// FileName is the config file that is looked for in a directory.
const FileName = "config.yaml"

// maxFileSize bounds a config file; DeerFlow's commented example has 120 KB.
const maxFileSize = 4 << 20

// variables that name the config file, the first that is set wins.
func pathVariables() []string { return []string{"DEERFLOW_CONFIG", "DEER_FLOW_CONFIG_PATH"} }

// find returns the config file to read, empty when there is none, and what was
// looked at. A file that somebody named must exist.
func find(o Options) (file string, looked []string, err error) {
	if o.Path != "" {
		file = o.resolve(o.Path)
		return file, nil, mustExist(file, "--config")
	}
	for _, name := range pathVariables() {
		if value, ok := o.Getenv(name); ok && value != "" {
			file = o.resolve(value)
			return file, nil, mustExist(file, name)
		}
		looked = append(looked, "$"+name+" (not set)")
	}
	file = o.resolve(FileName)
	switch _, err := os.Stat(file); {
	case errors.Is(err, fs.ErrNotExist):
		return "", append(looked, file), nil
	case err != nil:
		return "", nil, &Error{File: file, Msg: "cannot read the config: " + reason(err)}
	}
	return file, nil, mustExist(file, "the working directory")
}

func mustExist(file, source string) error {
	info, err := os.Stat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &Error{File: file, Msg: fmt.Sprintf("no such config file (named by %s)", source)}
	case err != nil:
		return &Error{File: file, Msg: fmt.Sprintf("cannot read the config named by %s: %s", source, reason(err))}
	case info.IsDir():
		return &Error{File: file, Msg: fmt.Sprintf("is a directory, want a config file (named by %s)", source)}
	}
	return nil
}

// readConfig returns the bytes of a config file. The file may be a pipe.
func readConfig(file string) (data []byte, err error) {
	f, err := os.Open(filepath.Clean(file))
	if err != nil {
		return nil, &Error{File: file, Msg: "cannot read the config: " + reason(err)}
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	data, err = io.ReadAll(io.LimitReader(f, maxFileSize+1))
	if err != nil {
		return nil, &Error{File: file, Msg: "cannot read the config: " + reason(err)}
	}
	if len(data) > maxFileSize {
		return nil, &Error{File: file, Msg: fmt.Sprintf("larger than %d MiB: this is no config file", maxFileSize>>20)}
	}
	return data, nil
}
