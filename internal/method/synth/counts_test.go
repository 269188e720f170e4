package synth

import (
	"slices"
	"strings"
	"testing"

	"github.com/collabui/collabui/domain"
)

func TestCountersThatDoNotAddUpAreFound(t *testing.T) {
	for want, spoil := range map[string]func(*ItemCounts){
		"screens":    func(c *ItemCounts) { c.Screens++ },
		"unanswered": func(c *ItemCounts) { c.Unanswered = 9 },
		"proposed":   func(c *ItemCounts) { c.Dropped[DropEmpty]++ },
		"kinds":      func(c *ItemCounts) { c.ByKind["x"]++ },
	} {
		t.Run(want, func(t *testing.T) {
			c := NewItemCounts()
			c.Add(ItemCounts{
				Screens:  5,
				Failed:   1,
				First:    1,
				Over:     1,
				Asked:    2,
				Proposed: 3,
				Kept:     2,
				Dropped:  map[string]int{DropElement: 1},
				ByKind:   map[string]int{"click": 2},
			})
			if why := c.Problem(); why != "" {
				t.Fatalf("Problem() = %q, want none", why)
			}
			if spoil(&c); !strings.Contains(c.Problem(), want) {
				t.Errorf("Problem() = %q, want one with %q", c.Problem(), want)
			}
		})
	}
}

func TestDuplicatesAreRemovedAndCounted(t *testing.T) {
	c := NewItemCounts()
	c.Add(ItemCounts{Proposed: 4, Kept: 4, ByKind: map[string]int{"click": 3, "wait": 1}})
	click := domain.Example{Prompt: "p", Chosen: "a", ChosenCanonical: "click index=1"}
	seen := click
	seen.Image = "another screen"
	wait := domain.Example{Prompt: "p", Chosen: "b", ChosenCanonical: "wait"}
	kind := func(p domain.Example) string { return KindOf(2, p) }
	rows := Dedupe([]domain.Example{click, seen, click, wait}, &c, kind)
	if !slices.Equal(rows, []domain.Example{click, seen, wait}) {
		t.Errorf("%+v, want one of each", rows)
	}
	if c.Kept != 3 || c.Dropped[DropDuplicate] != 1 || c.Problem() != "" {
		t.Errorf("%+v, want 3 kept and 1 duplicate; problem %q, want none", c, c.Problem())
	}
}
