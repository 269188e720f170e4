package synth

import (
	"fmt"
	"maps"
	"slices"

	"github.com/collabui/collabui/domain"
)

// ItemCounts add up: Screens = Failed + First + Over + Asked, Unanswered ≤ Asked, Proposed = Kept + the sum of Dropped,
// and Kept = the sum of ByKind. In level 3, the screens are the steps of trajectories, Failed counts the steps of
// unsuccessful ones, and every step in Asked proposes one pair.
type ItemCounts struct {
	Unplayed   int            `json:"unplayed,omitempty"` // tasks that could not be played
	Screens    int            `json:"screens"`            // visited
	Failed     int            `json:"failed_episodes"`    // level 3: screens of unsuccessful episodes
	First      int            `json:"first_screens"`      // left out by keep_first
	Over       int            `json:"over_limit"`         // left out by synthesis.screens
	Asked      int            `json:"asked"`              // screens about which items were requested
	Unanswered int            `json:"unanswered"`         // screens in Asked whose answer could not be read
	Proposed   int            `json:"proposed"`           // items
	Dropped    map[string]int `json:"dropped"`            // dropped items, by reason
	Kept       int            `json:"kept"`
	ByKind     map[string]int `json:"by_kind"`  // kept items, by kind
	Messages   int            `json:"messages"` // kept items with messages in their prompt, including duplicates
}

// NewItemCounts returns empty counts.
func NewItemCounts() ItemCounts {
	return ItemCounts{Dropped: map[string]int{}, ByKind: map[string]int{}}
}

// Add adds the counts of another batch.
func (c *ItemCounts) Add(itemCounts ItemCounts) {
	c.Unplayed += itemCounts.Unplayed
	c.Screens += itemCounts.Screens
	c.Failed += itemCounts.Failed
	c.First += itemCounts.First
	c.Over += itemCounts.Over
	c.Asked += itemCounts.Asked
	c.Unanswered += itemCounts.Unanswered
	c.Proposed += itemCounts.Proposed
	c.Kept += itemCounts.Kept
	c.Messages += itemCounts.Messages
	for key, n := range itemCounts.Dropped {
		c.Dropped[key] += n
	}
	for k, n := range itemCounts.ByKind {
		c.ByKind[k] += n
	}
}

// Problem describes the first sum that does not hold, or returns "" if all hold.
func (c ItemCounts) Problem() string {
	switch {
	case c.Screens != c.Failed+c.First+c.Over+c.Asked:
		return fmt.Sprintf(
			"%d screens are not %d of failed episodes + %d first ones + %d over the limit + %d asked about",
			c.Screens, c.Failed, c.First, c.Over, c.Asked)
	case c.Unanswered > c.Asked:
		return fmt.Sprintf("%d unanswered of %d asked", c.Unanswered, c.Asked)
	case c.Proposed != c.Kept+sum(c.Dropped):
		return fmt.Sprintf("%d proposed are not %d kept + %d dropped", c.Proposed, c.Kept, sum(c.Dropped))
	case c.Kept != sum(c.ByKind):
		return fmt.Sprintf("%d kept are not the %d of all kinds", c.Kept, sum(c.ByKind))
	}

	return ""
}

func sum(m map[string]int) (n int) {
	for _, v := range m {
		n += v
	}

	return n
}

// print prints the counts for people.
func (c ItemCounts) print(printf func(format string, args ...any)) {
	printf("  screens      %d visited = %d asked about + %d first ones left out + %d over the limit"+
		" + %d of failed episodes; %d answers could not be read",
		c.Screens, c.Asked, c.First, c.Over, c.Failed, c.Unanswered)
	if c.Unplayed > 0 {
		printf("  tasks        %d could not be played", c.Unplayed)
	}
	printf("  items        %d proposed = %d kept + %d dropped", c.Proposed, c.Kept, c.Proposed-c.Kept)
	for _, why := range slices.Sorted(maps.Keys(c.Dropped)) {
		printf("    dropped    %6d  %s", c.Dropped[why], why)
	}
	for _, key := range slices.Sorted(maps.Keys(c.ByKind)) {
		printf("    kept       %6d  %s", c.ByKind[key], key)
	}
	printf("  messages     %d prompts were written with some, half of them wrong", c.Messages)
}

// Dedupe removes training examples whose prompt, picture and answers have occurred before, and counts them. kind
// returns the kind of an example.
func Dedupe(rows []domain.Example, itemCounts *ItemCounts, kind func(domain.Example) string) []domain.Example {
	type text struct{ prompt, image, chosen, rejected string }
	seen := map[text]bool{}

	return slices.DeleteFunc(rows, func(pair domain.Example) bool {
		id := text{pair.Prompt, pair.Image, pair.Chosen, pair.Rejected}
		if !seen[id] {
			seen[id] = true

			return false
		}

		itemCounts.Kept--
		itemCounts.Dropped[DropDuplicate]++
		key := kind(pair)
		if itemCounts.ByKind[key]--; itemCounts.ByKind[key] == 0 {
			delete(itemCounts.ByKind, key)
		}

		return true
	})
}
