package model

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// maxRetryAfter bounds what a header can ask for.
const maxRetryAfter = 7 * 24 * time.Hour

// retryAfter is how long the provider asks to wait (A22): retry-after-ms in
// milliseconds, or Retry-After in seconds or as a date. A date is compared with
// the server's own Date, so that a wrong clock does no harm.
func retryAfter(h http.Header, now time.Time) time.Duration {
	if ms, ok := positive(h.Get("Retry-After-Ms")); ok {
		return clampDelay(ms * float64(time.Millisecond))
	}
	value := strings.TrimSpace(h.Get("Retry-After"))
	if s, ok := positive(value); ok {
		return clampDelay(s * float64(time.Second))
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		now = date
	}
	return clampDelay(float64(at.Sub(now)))
}

func positive(s string) (float64, bool) {
	f, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(s), "s"), 64)
	return f, err == nil && f >= 0 && !math.IsInf(f, 0)
}

func clampDelay(ns float64) time.Duration {
	return time.Duration(min(max(ns, 0), float64(maxRetryAfter)))
}

// obeyHeaders puts what an error answer's headers say into the error.
// x-should-retry is the server's own verdict and wins.
func (e *Error) obeyHeaders(h http.Header, now time.Time) {
	e.RetryAfter = retryAfter(h, now)
	switch strings.ToLower(strings.TrimSpace(h.Get("X-Should-Retry"))) {
	case "true":
		e.Retryable = true
	case "false":
		e.Retryable = false
	}
}
