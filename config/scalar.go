package config

import (
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// setBasic sets a string, bool or number from text and checks its bounds.
func setBasic(v reflect.Value, text string, f field) error {
	switch v.Kind() {
	case reflect.String:
		if f.enum != nil && !slices.Contains(f.enum, text) {
			return wantError(orList(f.enum))
		}
		v.SetString(text)
	case reflect.Bool:
		on, ok := parseBool(text)
		if !ok {
			return wantError("true or false")
		}
		v.SetBool(on)
	case reflect.Int, reflect.Int64:
		n, err := parseInt(text)
		if err != nil {
			return err
		}
		if err := f.inBounds(float64(n), ""); err != nil {
			return err
		}
		v.SetInt(n)
	default: // float64: fields have no other kind
		n, err := parseFloat(text)
		if err != nil {
			return err
		}
		if err := f.inBounds(n, ""); err != nil {
			return err
		}
		v.SetFloat(n)
	}
	return nil
}

// parseBool accepts what YAML 1.1 does, and 1 and 0 as variables often hold.
func parseBool(text string) (on, ok bool) {
	switch strings.ToLower(text) {
	case "true", "yes", "on", "y", "1":
		return true, true
	case "false", "no", "off", "n", "0":
		return false, true
	}
	return false, false
}

// parseInt accepts 1000, 1_000, 0x10 and a float without a fraction (1e3).
func parseInt(text string) (int64, error) {
	text = strings.ReplaceAll(text, "_", "")
	if n, err := strconv.ParseInt(text, 0, 64); err == nil {
		return n, nil
	}
	const exact = 1 << 53 // above it a float64 skips whole numbers
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || n != math.Trunc(n) || math.Abs(n) > exact {
		return 0, wantError("a whole number")
	}
	return int64(n), nil
}

// parseFloat accepts finite numbers only: NaN and infinity pass every check of
// bounds and then break a request or a timer much later.
func parseFloat(text string) (float64, error) {
	switch strings.ToLower(strings.TrimLeft(text, "+-.")) {
	case "nan", "inf", "infinity":
		return 0, wantError("a finite number")
	}
	n, err := strconv.ParseFloat(strings.ReplaceAll(text, "_", ""), 64)
	if math.IsInf(n, 0) {
		return 0, wantError("a number that fits 64 bits")
	}
	if err != nil {
		return 0, wantError("a number")
	}
	return n, nil
}

// parseDuration accepts Go's syntax (1m30s) and a plain number in f.unit.
func parseDuration(text string, f field) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if n, numErr := parseFloat(text); numErr == nil {
		if math.Abs(n) > float64(math.MaxInt64/int64(f.unit)) {
			return 0, wantError("at most 292 years")
		}
		d, err = time.Duration(n*float64(f.unit)), nil
	}
	if err != nil {
		unit := "seconds"
		if f.unit == time.Millisecond {
			unit = "milliseconds"
		}
		return 0, wantError("a duration such as 30s, 5m, 24h, or a number of " + unit)
	}
	if d < 0 {
		return 0, wantError("a duration that is not negative")
	}
	return d, f.inBounds(d.Seconds(), "s")
}

func (f *field) inBounds(n float64, unit string) error {
	if f.min != nil && n < *f.min {
		return wantError("at least " + strconv.FormatFloat(*f.min, 'g', -1, 64) + unit)
	}
	if f.max != nil && n > *f.max {
		return wantError("at most " + strconv.FormatFloat(*f.max, 'g', -1, 64) + unit)
	}
	return nil
}

func orList(words []string) string {
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}
