package main

import (
	"strings"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/trainer/rows"
)

// TestASampleTakesFromEverySet, most from the largest, in the order of the sets' names.
func TestASampleTakesFromEverySet(t *testing.T) {
	sets := []rows.Set{
		{Name: "a", Pairs: make([]domain.Pair, 500)},
		{Name: "b", Pairs: []domain.Pair{{Prompt: "p"}, {Prompt: "=p2"}, {Prompt: "p3"}}},
	}

	counts := map[string]int{}
	items := drawSample(sets, 200, 1)
	for i, x := range items {
		counts[x.Set]++
		if i > 0 && x.Set < items[i-1].Set {
			t.Errorf("item %d is of set %s after set %s, want the order of names", i, x.Set, items[i-1].Set)
		}
	}
	if counts["a"] != 197 || counts["b"] != 3 {
		t.Errorf("items by set: %v, want 197 of a and 3 of b", counts)
	}

	sheet, err := sampleCSV(items)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(string(sheet), "\n"); got != 201 {
		t.Errorf("the sheet has %d lines, want 201", got)
	}
	if !strings.Contains(string(sheet), ",'=p2,") {
		t.Errorf("the sheet has a formula, want it quoted:\n%s", sheet)
	}
}

// TestTheSampleEscapesData: prompts hold text of foreign pages.
func TestTheSampleEscapesData(t *testing.T) {
	page, err := sampleHTML([]sampled{{Set: "x", Pair: domain.Pair{Prompt: "<script>alert(1)</script>"}}})
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(page), "<script>") {
		t.Errorf("the page has a script, want it escaped:\n%s", page)
	}
}
