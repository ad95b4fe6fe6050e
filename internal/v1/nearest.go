package v1

import "strings"

// Nearest guesses which of the names was meant by word: the one at the
// smallest editing distance, if that is small for its length; "" if none is.
func Nearest(word string, names []string) string {
	best, at := "", len(word)/3+2
	for _, name := range names {
		d := distance(strings.ToLower(word), strings.ToLower(name))
		if d < at {
			best, at = name, d
		}
	}
	return best
}

// distance counts the insertions, deletions, changes and swaps of neighbours
// that make b of a.
func distance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(last[j+1]+1, row[j]+1, last[j]+cost)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
