package spec

import (
	"fmt"
	"strings"
)

// suggest returns a hint for an unknown name: the most similar known name, or all known names if none is similar.
func suggest(name string, known []string) string {
	best := Nearest(name, known)
	if best == "" {
		return "known are " + strings.Join(known, ", ")
	}

	return fmt.Sprintf("did you mean %q?", best)
}

// Nearest returns the known name that is most similar to another name, or "" if none is similar.
func Nearest(name string, known []string) (best string) {
	least := len(name)/2 + 2
	for _, key := range known {
		if n := distance(name, key); n < least {
			best = key
			least = n
		}
	}

	return best
}

// distance returns the Levenshtein distance between two names, in bytes.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}

	return row[len(b)]
}
