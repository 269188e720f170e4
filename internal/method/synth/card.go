package synth

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/credit"
)

// Card describes a data set of stage 1: its contents, who made it, and what was dropped and why.
type Card struct {
	Level     int               `json:"level"`
	Rows      int               `json:"rows"`
	Imported  string            `json:"imported,omitempty"` // digest of the imported file; empty if synthesised
	Agent     string            `json:"agent"`              // player of the trajectories
	Author    string            `json:"author,omitempty"`   // author of levels 1 and 2
	Adversary string            `json:"adversary,omitempty"`
	Critic    string            `json:"critic,omitempty"`
	Prompts   map[string]string `json:"prompts,omitempty"` // version and digest, by role
	Counts    ItemCounts        `json:"counts"`
	Chosen    float64           `json:"chosen_length"`             // mean number of bytes
	Rejected  float64           `json:"rejected_length,omitempty"` // mean number of bytes
	StyleAUC  float64           `json:"style_auc,omitempty"`       // level 3 only
}

// Describe fills in the card's figures about its training examples.
func (c *Card) Describe(rows []domain.Example) {
	c.Rows = len(rows)
	var pairs []domain.Example
	for _, pair := range rows {
		c.Chosen += float64(len(pair.Chosen)) / float64(len(rows))
		if pair.Rejected != "" {
			pairs = append(pairs, pair)
		}
	}
	for _, p := range pairs {
		c.Rejected += float64(len(p.Rejected)) / float64(len(pairs))
	}
	if len(pairs) > 0 {
		c.StyleAUC = credit.StyleAUC(pairs)
	}
}

// Text returns the card as text for people.
func (c Card) Text() string {
	var builder strings.Builder
	printf := func(format string, args ...any) { fmt.Fprintf(&builder, format+"\n", args...) }
	printf("level %d: %d rows", c.Level, c.Rows)
	if c.Imported != "" {
		printf("  imported, file %s", c.Imported)
	} else {
		c.printMakers(printf)
		c.Counts.print(printf)
	}

	printf("  length       %.0f characters of an answer on average", c.Chosen)
	if c.Rejected > 0 {
		printf("               %.0f of a rejected one; words alone tell them apart with an AUC of %.2f", c.Rejected,
			c.StyleAUC)
	}

	return builder.String()
}

// printMakers prints who made the data, and with which prompts.
func (c Card) printMakers(printf func(format string, args ...any)) {
	for _, x := range []struct{ part, name string }{
		{"played by", c.Agent},
		{"written by", c.Author},
		{"adversary", c.Adversary},
		{"critic", c.Critic},
	} {
		if x.name != "" {
			printf("  %-12s %s", x.part, x.name)
		}
	}
	for _, role := range slices.Sorted(maps.Keys(c.Prompts)) {
		printf("  prompt %-12s %s", role, c.Prompts[role])
	}
}
