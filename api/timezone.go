package api

import "encoding/json"

// longestZone is longer than any name of a time zone.
const longestZone = 64

// timeZone reads the user's zone of a run, an IANA name. One that cannot be used
// is no error: the date is then told in the server's.
func timeZone(merged object) string {
	var name string
	if raw := merged.get("timezone"); raw == nil || json.Unmarshal(raw, &name) != nil || len(name) > longestZone {
		return ""
	}
	return name
}
