package config

import (
	"bytes"
	"errors"
	"io/fs"
	"strings"

	"github.com/joho/godotenv"
)

// dotenvName is the file of variables beside the config.
const dotenvName = ".env"

// parseDotenv returns the variables of a .env file. In its unquoted and
// double-quoted values $NAME stands for an earlier line of it, so a value with a
// dollar sign belongs in single quotes. The text of the parser's errors is not
// passed on: they quote the file, which is full of secrets.
func parseDotenv(path string, data []byte) (map[string]string, error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	vars, err := godotenv.UnmarshalBytes(data)
	_, unnamed := vars[""] // what the parser makes of a last line without "="
	if err == nil && !unnamed {
		return vars, nil
	}
	return nil, &Error{
		File: path,
		Line: dotenvErrorLine(data),
		Msg:  "want NAME=value with a closed quote, if any, and a name of letters, digits, _ and dots",
	}
}

// dotenvErrorLine finds where the statement begins that does not parse: it reads
// line by line and starts anew whenever what it has is whole.
func dotenvErrorLine(data []byte) int {
	lines := strings.SplitAfter(string(data), "\n")
	start := 0
	for i := range lines {
		chunk := strings.Join(lines[start:i+1], "")
		vars, err := godotenv.Unmarshal(chunk)
		if _, unnamed := vars[""]; err == nil && !unnamed {
			start = i + 1
		}
	}
	return min(start, len(lines)-1) + 1
}

// layered looks a variable up in the real environment, then in vars.
func layered(env Lookup, vars map[string]string) Lookup {
	return func(name string) (string, bool) {
		if value, ok := env(name); ok {
			return value, true
		}
		value, ok := vars[name]
		return value, ok
	}
}

// reason is the cause of a file error without the path, which the caller names.
func reason(err error) string {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		return pathErr.Err.Error()
	}
	return err.Error()
}
