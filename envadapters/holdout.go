package envadapters

import (
	"slices"

	"github.com/collabui/collabui/domain"
)

// HeldOut tells whether a task's name is among the fifth that no agent is trained on.
func HeldOut(name string) bool { return domain.Seed(0, "held out", name)%5 == 0 }

// HoldOut parts task names into training templates and held-out ones, about a fifth, by a hash of each name: which names stand beside it changes nothing. Of a single name
// none is held out. Both are sorted.
func HoldOut(names []string) (train, held []string) {
	for _, n := range names {
		if len(names) > 1 && HeldOut(n) {
			held = append(held, n)
		} else {
			train = append(train, n)
		}
	}
	slices.Sort(train)
	slices.Sort(held)
	return train, held
}
