package api

import "time"

// timeLayout is RFC 3339 with microseconds and a numeric offset, as Python
// writes it.
const timeLayout = "2006-01-02T15:04:05.000000-07:00"

// stamp writes a time in UTC, always with its offset and always equally long,
// so that texts sort like times (E16).
func stamp(t time.Time) string { return t.UTC().Format(timeLayout) }
