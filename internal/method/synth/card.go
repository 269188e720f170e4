package synth

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/collabui/collabui/domain"
)

// ItemCounts add up: Screens = Failed + First + Over + Asked, Asked ≥ Unanswered, Proposed = Kept + all of Dropped, Kept = all of ByKind. Of level 3, where the screens
// are the steps of successful trajectories, Failed are those of others and every asked step proposes one pair.
type ItemCounts struct {
	Screens    int            `json:"screens"`         // visited
	Failed     int            `json:"failed_episodes"` // level 3: screens of episodes that did not succeed
	First      int            `json:"first_screens"`   // left out by keep_first
	Over       int            `json:"over_limit"`      // left out by synthesis.screens
	Asked      int            `json:"asked"`           // written about
	Unanswered int            `json:"unanswered"`      // of these: the author's answer could not be read
	Proposed   int            `json:"proposed"`        // items
	Dropped    map[string]int `json:"dropped"`         // by reason
	Kept       int            `json:"kept"`
	ByKind     map[string]int `json:"by_kind"`  // of the kept ones
	Messages   int            `json:"messages"` // rows written with messages in their prompt, duplicates included
}

// NewItemCounts begins empty ones.
func NewItemCounts() ItemCounts {
	return ItemCounts{Dropped: map[string]int{}, ByKind: map[string]int{}}
}

// Add counts another batch.
func (c *ItemCounts) Add(d ItemCounts) {
	c.Screens, c.Failed, c.First, c.Over, c.Asked, c.Unanswered = c.Screens+d.Screens, c.Failed+d.Failed, c.First+d.First, c.Over+d.Over, c.Asked+d.Asked, c.Unanswered+d.Unanswered
	c.Proposed, c.Kept, c.Messages = c.Proposed+d.Proposed, c.Kept+d.Kept, c.Messages+d.Messages
	for k, n := range d.Dropped {
		c.Dropped[k] += n
	}
	for k, n := range d.ByKind {
		c.ByKind[k] += n
	}
}

// Problem says which of the sums does not hold; empty means that all do.
func (c ItemCounts) Problem() string {
	sum := func(m map[string]int) (n int) {
		for _, v := range m {
			n += v
		}
		return n
	}
	switch {
	case c.Screens != c.Failed+c.First+c.Over+c.Asked:
		return fmt.Sprintf("%d screens are not %d of failed episodes + %d first ones + %d over the limit + %d asked about", c.Screens, c.Failed, c.First, c.Over, c.Asked)
	case c.Unanswered > c.Asked:
		return fmt.Sprintf("%d unanswered of %d asked", c.Unanswered, c.Asked)
	case c.Proposed != c.Kept+sum(c.Dropped):
		return fmt.Sprintf("%d proposed are not %d kept + %d dropped", c.Proposed, c.Kept, sum(c.Dropped))
	case c.Kept != sum(c.ByKind):
		return fmt.Sprintf("%d kept are not the %d of all kinds", c.Kept, sum(c.ByKind))
	}
	return ""
}

// Dedupe strikes out rows whose prompt and answers stood there already, in order, and counts them. kind gives a row's kind.
func Dedupe(rows []domain.Pair, c *ItemCounts, kind func(domain.Pair) string) []domain.Pair {
	seen := map[[3]string]bool{}
	return slices.DeleteFunc(rows, func(p domain.Pair) bool {
		id := [3]string{p.Prompt, p.Chosen, p.Rejected}
		if !seen[id] {
			seen[id] = true
			return false
		}
		c.Kept--
		c.Dropped[DropDuplicate]++
		k := kind(p)
		if c.ByKind[k]--; c.ByKind[k] == 0 {
			delete(c.ByKind, k)
		}
		return true
	})
}

// Card describes a data set of stage 1: what, how many, from whom, what was dropped and why.
type Card struct {
	Level     int               `json:"level"`
	Rows      int               `json:"rows"`
	Imported  string            `json:"imported,omitempty"` // digest of the file, where it was not synthesised
	Agent     string            `json:"agent"`              // who played
	Author    string            `json:"author,omitempty"`   // who wrote; levels 1 and 2
	Adversary string            `json:"adversary,omitempty"`
	Critic    string            `json:"critic,omitempty"`
	Prompts   map[string]string `json:"prompts,omitempty"` // version and digest, by role
	Counts    ItemCounts        `json:"counts"`
	Chosen    float64           `json:"chosen_length"`             // mean characters
	Rejected  float64           `json:"rejected_length,omitempty"` // mean characters
	StyleAUC  float64           `json:"style_auc,omitempty"`       // level 3
}

// Text is the card for people.
func (c Card) Text() string {
	var b strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	say("level %d: %d rows", c.Level, c.Rows)
	if c.Imported != "" {
		say("  imported, file %s", c.Imported)
	} else {
		n := c.Counts
		for _, x := range [][2]string{{"played by", c.Agent}, {"written by", c.Author}, {"adversary", c.Adversary}, {"critic", c.Critic}} {
			if x[1] != "" {
				say("  %-12s %s", x[0], x[1])
			}
		}
		for _, role := range slices.Sorted(maps.Keys(c.Prompts)) {
			say("  prompt %-12s %s", role, c.Prompts[role])
		}
		say("  screens      %d visited = %d asked about + %d first ones left out + %d over the limit + %d of failed episodes; %d answers could not be read", n.Screens, n.Asked, n.First, n.Over, n.Failed, n.Unanswered)
		say("  items        %d proposed = %d kept + %d dropped", n.Proposed, n.Kept, n.Proposed-n.Kept)
		for _, why := range slices.Sorted(maps.Keys(n.Dropped)) {
			say("    dropped    %6d  %s", n.Dropped[why], why)
		}
		for _, k := range slices.Sorted(maps.Keys(n.ByKind)) {
			say("    kept       %6d  %s", n.ByKind[k], k)
		}
		say("  messages     %d prompts were written with some, half of them wrong", n.Messages)
	}
	say("  length       %.0f characters of an answer on average", c.Chosen)
	if c.Rejected > 0 {
		say("               %.0f of a rejected one; words alone tell them apart with an AUC of %.2f", c.Rejected, c.StyleAUC)
	}
	return b.String()
}
