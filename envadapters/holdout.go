package envadapters

import (
	"slices"

	"github.com/collabui/collabui/domain"
)

// HeldOut reports whether a task belongs to the fifth of all tasks that no agent is trained on. It is a function of the
// name alone.
func HeldOut(name string) bool { return domain.Seed(0, "held out", name)%5 == 0 }

// HoldOut divides task names into templates for training and held-out ones by HeldOut. A name without others is never
// held out. Both results are sorted.
func HoldOut(names []string) (train, held []string) {
	for _, name := range names {
		if len(names) > 1 && HeldOut(name) {
			held = append(held, name)
		} else {
			train = append(train, name)
		}
	}
	slices.Sort(train)
	slices.Sort(held)

	return train, held
}
