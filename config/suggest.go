package config

import "strings"

// didYouMean returns "; did you mean X?" for the candidate that word is most
// likely a slip of, or nothing.
func didYouMean(word string, candidates []string) string {
	if best := suggest(word, candidates); best != "" {
		return "; did you mean " + best + "?"
	}
	return ""
}

// suggest returns the candidate nearest to word, empty when none is near. A
// longer word may have more slips: one up to 4 letters, two up to 9, else three.
func suggest(word string, candidates []string) string {
	allowed := 3
	switch n := len([]rune(word)); {
	case n < 5:
		allowed = 1
	case n < 10:
		allowed = 2
	}
	best, nearest := "", allowed+1
	for _, c := range candidates {
		if dist := distance(fold(word), fold(c)); dist < nearest && dist < len(c) {
			best, nearest = c, dist
		}
	}
	return best
}

func fold(s string) []rune { return []rune(strings.ReplaceAll(strings.ToLower(s), "-", "_")) }

// distance counts the letters to insert, drop, change or swap with their
// neighbour to turn a into b (optimal string alignment).
func distance(a, b []rune) int {
	var before, last []int
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		before, last, row = last, row, make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
	}
	return row[len(b)]
}
