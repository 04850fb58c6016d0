package api

import (
	"encoding/json"
	"fmt"
)

// selectKeys cuts a JSON object down to the keys that a client asked for; an
// empty list keeps all.
func selectKeys(v any, keys []string) (any, error) {
	if len(keys) == 0 {
		return v, nil
	}
	data, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode an answer: %w", err)
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(data, &all); err != nil {
		return nil, fmt.Errorf("select from an answer: %w", err)
	}
	kept := make(map[string]json.RawMessage, len(keys))
	for _, key := range keys {
		if value, ok := all[key]; ok {
			kept[key] = value
		}
	}
	return kept, nil
}
