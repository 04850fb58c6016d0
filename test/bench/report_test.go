package bench

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// figure is one measurement beside its bar.
type figure struct {
	name  string
	value float64
	unit  string
	bar   float64
	least bool // the bar is a lower bound
	note  string
	// missing is why there is no value.
	missing string
}

func (f figure) String() string {
	if f.missing != "" {
		return fmt.Sprintf("%-44s %10s %-8s %s", f.name, "-", "", "not measured: "+f.missing)
	}
	sign, ok := "≤", f.value <= f.bar
	if f.least {
		sign, ok = "≥", f.value >= f.bar
	}
	if f.bar == 0 {
		return fmt.Sprintf("%-44s %10.2f %-8s %s", f.name, f.value, f.unit, f.note)
	}
	verdict := "holds"
	if !ok {
		verdict = "falls short"
	}
	return fmt.Sprintf("%-44s %10.2f %-8s bar %s %-7g ratio %.2f  %-11s %s", f.name, f.value, f.unit, sign, f.bar, f.value/f.bar, verdict, f.note)
}

// sheet gathers figures and prints them at the end.
type sheet struct {
	t       testing.TB
	figures []figure
}

func (s *sheet) add(f figure) {
	s.t.Log(f)
	s.figures = append(s.figures, f)
}

func (s *sheet) print() {
	fmt.Println()
	for _, f := range s.figures {
		fmt.Println(f)
	}
}

func percentile(list []time.Duration, p float64) time.Duration {
	if len(list) == 0 {
		return 0
	}
	sorted := slices.Clone(list)
	slices.Sort(sorted)
	return sorted[int(float64(len(sorted)-1)*p)]
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
