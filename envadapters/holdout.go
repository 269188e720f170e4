package envadapters

import (
	"slices"

	"github.com/collabui/collabui/domain"
)

// HoldOut parts task names into training templates and held-out ones, about a fifth, by a hash of each name: which names stand beside it changes nothing. Of a single name
// none is held out. Both are sorted.
func HoldOut(names []string) (train, held []string) {
	for _, n := range names {
		if len(names) > 1 && domain.Seed(0, "held out", n)%5 == 0 {
			held = append(held, n)
		} else {
			train = append(train, n)
		}
	}
	slices.Sort(train)
	slices.Sort(held)
	return train, held
}
