package view_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/credit"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/store/runs"
)

// reviewed adds to the run "crafted", in slot 5, an episode whose adversary proposed four answers to a cell. The critic
// finds all of them wrong, and the cells that it called right, too.
func reviewed(t *testing.T, b store.Bucket) runs.Run {
	t.Helper()
	run := crafted(t, b)
	slots, _, err := run.Slots(1).Read(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	step := hostileStep()
	play(t, b, run, slots.Slots[4], 1, step)
	record(t, b, run.Credits(1, 5), runs.Credits{Steps: []domain.Credit{{Step: 1, Labels: []domain.Label{1, 0, 1, 1}}}})

	say := func(a domain.Action) string { return "Reason: r" + hostile[0] + "\nAction: " + a.JSON() }
	back, wait := domain.Action{Type: domain.ActionBack}, domain.Action{Type: domain.ActionWait}
	audit := credit.Audit{Step: 1, Means: map[string]float64{}, Blinded: 2, Again: 0}
	for _, canonical := range []string{
		back.Canonical(step.Observation), wait.Canonical(step.Observation), step.Decision.Cells[0].Canonical,
		step.Decision.Cells[2].Canonical,
	} {
		audit.Means[canonical] = 0.1
		audit.Grades = append(audit.Grades, credit.Score{Given: true, Value: 0.1, Reason: "it goes nowhere" + hostile[1]})
	}
	made := domain.Pair{
		Agent: 0, Step: 1, Chosen: step.Decision.Cells[0].Text, ChosenCanonical: step.Decision.Cells[0].Canonical,
		Rejected: say(back), RejectedCanonical: back.Canonical(step.Observation), Source: domain.SourceAdversary, Weight: 1,
	}
	call := runs.Call{Step: 1, Texts: []string{"", say(*step.Decision.Cells[0].Action), say(wait), say(back)}}
	record(t, b, run.Pairs(1, 5), runs.Pairs{
		Calls: []runs.Call{call}, Pairs: []domain.Pair{made}, Audit: []credit.Audit{audit},
		Counts: credit.PairCounts{Positive: 3, Negative: 1, Unparsed: 1, NoPair: 2,
			Pairs: map[domain.Source]int{domain.SourceAdversary: 1}},
	})

	return run
}

func TestPagesSayWhatBecameOfProposedAnswers(t *testing.T) {
	var b store.Memory
	run := string(reviewed(t, &b))
	d := at(t, document(t, library(&b, 1), "episodes/"+run+"/1/5"), "5", "steps", 0)
	var fates []any
	for _, p := range at(t, d, "asked", 0, "proposed").([]any) {
		fates = append(fates, at(t, p, "fate"))
	}
	want := []any{"unparsed", "equal", "limit", "paired"}
	if !reflect.DeepEqual(fates, want) {
		t.Errorf("the proposed answers became %v, want %v", fates, want)
	}
	if got := at(t, d, "cells", 0, "again", "score"); got != 0.1 {
		t.Errorf("asked again, the critic is said to have given %v, want 0.1", got)
	}
	if got := at(t, d, "cells", 1, "again"); got != nil {
		t.Errorf("a cell that was called wrong was graded again: %v, want no score", got)
	}

	x := newTab(t)
	x.open(serve(t, &b, run), "document.querySelector('h1')")
	x.page("#/episode/"+run+"/1/5/1/0.0", "pairs of the episode: adversary 1")
	for _, want := range []string{
		"what the adversary proposed (4, 1 paired)", "no pair: it contains no action",
		"no pair: an answer that is not labelled wrong says the same",
		"no pair: there are as many as the specification allows; the critic’s score: 0.10",
		"paired; the critic’s score: 0.10", "it goes nowhere" + hostile[1],
		"Of 2 actions of this step that it had called right, it called 0 right again.", "right answers without a pair",
	} {
		got := x.eval("document.querySelector('main').textContent.replace(/\\s+/g, ' ')").(string)
		if !strings.Contains(got, want) {
			t.Errorf("the page says %q, want %q in it", got, want)
		}
	}
	x.quiet()
}
