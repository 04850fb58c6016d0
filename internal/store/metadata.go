package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

const (
	// maxMetadataDepth is far above what people write and far below what any
	// JSON reader refuses.
	maxMetadataDepth = 64
	// maxKey is the length of an id in bytes: it must fit into index pages.
	maxKey = 1024
)

// metadataObject reads a metadata object and writes it so that both databases
// can search in it: valid text, no NUL, numbers that fit a float. pinned is 1
// for a pinned thread.
func metadataObject(data json.RawMessage) (text string, pinned int, err error) {
	if len(bytes.TrimSpace(data)) == 0 || bytes.Equal(bytes.TrimSpace(data), []byte("null")) {
		return "{}", 0, nil
	}
	object, err := readObject(data)
	if err != nil {
		return "", 0, err
	}
	return writeObject(object)
}

// mergeMetadata sets the keys of patch in a stored object.
func mergeMetadata(stored json.RawMessage, patch map[string]any) (text string, pinned int, err error) {
	object, err := readObject(stored)
	if err != nil {
		return "", 0, err
	}
	data, err := json.Marshal(patch)
	if err != nil {
		return "", 0, fmt.Errorf("metadata: %w: %w", ErrInvalid, err)
	}
	if patch == nil {
		return writeObject(object)
	}
	changes, err := readObject(data)
	if err != nil {
		return "", 0, err
	}
	for k, v := range changes {
		object[k] = v
	}
	return writeObject(object)
}

func readObject(data []byte) (map[string]any, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var object map[string]any
	if err := d.Decode(&object); err != nil {
		return nil, fmt.Errorf("metadata must be a JSON object, got %.60q: %w", data, ErrInvalid)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) || object == nil {
		return nil, fmt.Errorf("metadata must be one JSON object, got %.60q: %w", data, ErrInvalid)
	}
	return object, nil
}

func writeObject(object map[string]any) (text string, pinned int, err error) {
	if err := checkValue(object, 0); err != nil {
		return "", 0, err
	}
	data, err := encode(object)
	if err != nil {
		return "", 0, err
	}
	if on, ok := object[metadataPinned].(bool); ok && on {
		pinned = 1
	}
	return string(data), pinned, nil
}

func checkValue(v any, depth int) error {
	if depth > maxMetadataDepth {
		return fmt.Errorf("metadata is nested deeper than %d levels: %w", maxMetadataDepth, ErrInvalid)
	}
	switch v := v.(type) {
	case string:
		return checkText(v)
	case json.Number:
		if _, err := v.Float64(); err != nil {
			return fmt.Errorf("metadata has the number %.40s, which is out of range: %w", v, ErrInvalid)
		}
	case []any:
		for _, item := range v {
			if err := checkValue(item, depth+1); err != nil {
				return err
			}
		}
	case map[string]any:
		for key, item := range v {
			if err := checkText(key); err != nil {
				return err
			}
			if err := checkValue(item, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkText(s string) error {
	if strings.ContainsRune(s, 0) {
		return fmt.Errorf("metadata has a NUL character in %.60q: %w", s, ErrInvalid)
	}
	return nil
}

// checkKey refuses ids that one of the databases could not store.
func checkKey(what, id string) error {
	switch {
	case id == "":
		return fmt.Errorf("the %s is empty: %w", what, ErrInvalid)
	case len(id) > maxKey:
		return fmt.Errorf("the %s %.60q… has %d bytes, at most %d are allowed: %w", what, id, len(id), maxKey, ErrInvalid)
	case !utf8.ValidString(id) || strings.ContainsRune(id, 0):
		return fmt.Errorf("the %s %.60q is not valid text: %w", what, id, ErrInvalid)
	}
	return nil
}
