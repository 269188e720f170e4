package view_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"strings"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/credit"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/view"
	"github.com/collabui/collabui/test/kit/testrun"
)

// reviewed adds to the run "crafted", in slot 5, an episode whose adversary proposed four answers to a cell. The critic
// labels all of them wrong, and also the cells that it had labelled right.
func reviewed(t *testing.T, b store.Bucket) runs.Run {
	t.Helper()
	run := crafted(t, b, func(s *spec.Spec) {
		s.Critic.Model, s.Adversary.Model = "grader", "liar"
		s.Models = map[spec.Role]spec.Model{
			"grader": {Price: spec.Price{Prompt: 1000}}, "liar": {Price: spec.Price{Answer: 2000}},
		}
	})
	slots, _, err := run.Slots(1).Must(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	step := hostileStep()
	play(t, b, run, slots.Slots[4], 1, step)
	record(t, b, run.Credits(1, 5), runs.Credits{
		Steps: []domain.Credit{{Step: 1, Labels: []domain.Label{1, 0, 1, 1}}},
		Audit: []credit.Audit{{
			Step: 1, Means: map[string]float64{step.Decision.Cells[0].Canonical: 0.85},
			Usage: domain.Usage{Prompt: 1000, Answer: 10},
		}},
	})

	say := func(a domain.Action) string { return "Reason: r" + hostile[0] + "\nAction: " + a.JSON() }
	back, wait := domain.Action{Type: domain.ActionBack}, domain.Action{Type: domain.ActionWait}
	audit := credit.Audit{Step: 1, Means: map[string]float64{}, Blinded: 2, Again: 0,
		Usage: domain.Usage{Prompt: 2000, Answer: 20}}
	for _, canonical := range []string{
		back.Canonical(step.Observation), wait.Canonical(step.Observation), step.Decision.Cells[0].Canonical,
		step.Decision.Cells[2].Canonical,
	} {
		audit.Means[canonical] = 0.1
		audit.Grades = append(audit.Grades,
			credit.Score{Given: true, Value: 0.1, Reason: "it goes nowhere" + hostile[1]})
	}
	made := domain.Example{
		Agent: 0, Step: 1, Chosen: step.Decision.Cells[0].Text, ChosenCanonical: step.Decision.Cells[0].Canonical,
		Rejected: say(back), RejectedCanonical: back.Canonical(step.Observation), Source: domain.SourceAdversary,
		Weight: 1,
	}
	call := runs.Call{
		Step: 1, Usage: domain.Usage{Prompt: 100, Answer: 500},
		Texts: []string{"", say(*step.Decision.Cells[0].Action), say(wait), say(back)},
	}
	record(t, b, run.Pairs(1, 5), runs.Pairs{
		Calls: []runs.Call{call}, Pairs: []domain.Example{made}, Audit: []credit.Audit{audit},
		Counts: credit.PairCounts{LabelCounts: credit.LabelCounts{Positive: 3, Negative: 1}, Unparsed: 1, NoPair: 2,
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
		"mean score of this action, by which it is labelled0.85",
		"Of 2 actions of this step that it had called right, it called 0 right again.", "right answers without a pair",
	} {
		got := x.eval("document.querySelector('main').textContent.replace(/\\s+/g, ' ')").(string)
		if !strings.Contains(got, want) {
			t.Errorf("the page says %q, want %q in it", got, want)
		}
	}
	x.quiet()
}

func TestCostIsThatOfAllRoles(t *testing.T) {
	var b store.Memory
	run := string(reviewed(t, &b))
	row := at(t, document(t, library(&b, 1), "rows/"+run+"/1"), 4)
	if tokens, money := at(t, row, "tokens"), at(t, row, "money"); tokens != 440.0+3030+600 || money != 1.0+2+1 {
		t.Errorf("the episode took %v tokens and %v, want those of all roles: 4070 and 4", tokens, money)
	}

	x := newTab(t)
	x.open(serve(t, &b, run), "document.querySelector('h1')")
	for _, want := range []string{
		"1000 in, 10 out, cost 1.0000", "2000 in, 20 out, cost 2.0000", "100 in, 500 out, cost 1.0000",
		"100 in, 10 out",
	} {
		x.page("#/episode/"+run+"/1/5/1/0.0", want)
	}
	x.page("#/run/"+run+"/episodes?sort=cost", "4,070")
	if got := x.eval("document.querySelector('.line.place a').textContent.trim()"); got != "1/5" {
		t.Errorf("the most expensive episode is said to be %v, want 1/5", got)
	}
	x.quiet()
}

func TestAPairHasAnAddress(t *testing.T) {
	var b store.Memory
	run := string(reviewed(t, &b))
	x := newTab(t)
	x.open(serve(t, &b, run), "document.querySelector('h1')")
	x.page("#/episode/"+run+"/1/5/1", "1 pair of this step")
	x.eval("[...document.querySelectorAll('.decide tbody tr')].find((r) => r.textContent.includes('adversary'))" +
		".querySelector('a').click()")
	x.wait("location.hash === '#/episode/" + run + "/1/5/1/0.0/1'")
	x.wait("document.querySelector('.pair.here a')?.getAttribute('href') === location.hash")
	x.wait("(() => { const r = document.querySelector('.pair.here').getBoundingClientRect(); " +
		"return r.top >= 0 && r.top < innerHeight; })()")
	x.quiet()
}

func TestAnEpisodeLeadsToItsWorkflow(t *testing.T) {
	var b store.Memory
	run := string(reviewed(t, &b))
	s := view.Server{
		Library: library(&b, 1), Temporal: "http://127.0.0.1:1/namespaces/n",
		Index:  func(context.Context) (view.Names, error) { return view.Names{Runs: []string{run}}, nil },
		Events: func(context.Context, string, string) (int, string) { return 0, "0" },
		Execution: func(_ context.Context, workflow string) string {
			return map[string]string{run + "/epoch/0001/shard/0001": "newest"}[workflow]
		},
	}
	ctx, cancel := context.WithCancel(context.Background())
	srv := httptest.NewServer(s.Handler(ctx))
	t.Cleanup(func() { cancel(); srv.CloseClientConnections(); srv.Close() })

	x := newTab(t)
	x.open(srv.URL+"/", "document.querySelector('h1')")
	x.page("#/episode/"+run+"/1/5", "in the Temporal UI")
	got := x.eval("document.querySelector('header.goal a').getAttribute('href')")
	shard := url.PathEscape(run + "/epoch/0001/shard/0001")
	if want := "temporal/" + shard; got != want {
		t.Errorf("the page leads to %v, want %s", got, want)
	}
	for workflow, want := range map[string]string{
		shard: "/workflows/" + shard + "/newest/user-metadata", "unknown": "/workflows/unknown",
	} {
		response, err := http.DefaultTransport.RoundTrip(httptest.NewRequest("GET", srv.URL+"/temporal/"+workflow, nil))
		if err != nil {
			t.Fatal(err)
		}
		if got := response.Header.Get("Location"); response.StatusCode != http.StatusFound || got != s.Temporal+want {
			t.Errorf("%s leads to %s (%s), want %s", workflow, got, response.Status, s.Temporal+want)
		}
		if got := response.Header.Get("Referrer-Policy"); got != "origin" { // Temporal checks who links to it
			t.Errorf("the referrer policy is %q, want origin", got)
		}
	}
	const silent = `a[href^="temporal/"]:not([referrerpolicy=origin])`
	for _, hash := range []string{"#/episode/" + run + "/1/5", "#/run/" + run} { // Temporal checks who links to it
		x.page(hash, "in the Temporal UI")
		if n := x.eval("document.querySelectorAll('" + silent + "').length"); n != 0.0 {
			t.Errorf("%s has %v links to the Temporal UI that do not say where they are from, want none", hash, n)
		}
	}
	x.quiet()
}

func TestTheSystemMessageIsThatOfTheEpoch(t *testing.T) {
	r, _ := testrun.Learned(t)
	l := library(r.Bucket, 1)
	if got := at(t, document(t, l, "run/"+r.Spec.Name), "epochs", 0, "system"); got != nil {
		t.Errorf("an epoch with the prompt of the specification has the message %v, want that of the run", got)
	}

	var b store.Memory
	run := string(reviewed(t, &b)) // its epoch names no prompt of this build
	if got := at(t, document(t, library(&b, 1), "run/"+run), "epochs", 0, "system"); got != "" {
		t.Errorf("an epoch with an unknown prompt has the message %v, want none", got)
	}
	x := newTab(t)
	x.open(serve(t, &b, run), "document.querySelector('h1')")
	x.page("#/episode/"+run+"/1/5/1/0.0", "system message")
	x.eval("[...document.querySelectorAll('summary')].find((s) => s.innerText === 'system message').click()")
	x.wait("document.body.innerText.includes('neither in the specification nor in this build')")
	x.quiet()
}
