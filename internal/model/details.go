package model

import (
	"encoding/json"
)

// mergeDetails adds streamed reasoning_details to those before: entries with
// the same type and index are one entry, whose texts are joined. They go back
// to the provider word for word, signatures included (A18).
func mergeDetails(have []any, raw json.RawMessage) []any {
	for _, piece := range objects[map[string]any](raw) {
		if entry := sameDetail(have, piece); entry != nil {
			for key, value := range piece {
				entry[key] = joinDetail(key, entry[key], value)
			}
			continue
		}
		have = append(have, piece)
	}
	return have
}

func sameDetail(have []any, piece map[string]any) map[string]any {
	index, ok := piece["index"].(float64)
	if !ok {
		return nil
	}
	for _, v := range have {
		entry, _ := v.(map[string]any)
		if n, ok := entry["index"].(float64); ok && n == index && entry["type"] == piece["type"] {
			return entry
		}
	}
	return nil
}

func joinDetail(key string, before, now any) any {
	if now == nil {
		return before
	}
	if key == "text" || key == "summary" || key == "data" {
		if a, ok := before.(string); ok {
			if b, ok := now.(string); ok {
				return a + b
			}
		}
	}
	return now
}
