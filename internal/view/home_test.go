package view_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/lines"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/records/schedules"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/view"
)

// ended writes a run that has finished: its val goes from start to best, in percent.
func ended(t testing.TB, b store.Bucket, name string, start, best int, change ...func(*spec.Spec)) {
	t.Helper()
	s := spec.Default()
	s.Name, s.Environment, s.Agents, s.Epochs = name, "webtasks", 4, 2
	for _, f := range change {
		f(&s)
	}
	run := runs.Run(name)
	record(t, b, run.Spec(), s)
	record(t, b, run.Claim(1), runs.Claim{Who: "ann" + hostile[0]})
	record(t, b, run.End(), runs.End{
		Best: 2, Curve: []runs.EvalPoint{{Rate: float64(start) / 100}, {At: 2, Rate: float64(best) / 100}},
		Results: []runs.Result{
			runs.NewResult("base-4", domain.SplitVal, start, 100, 0, "plain"),
			runs.NewResult("trained-4", "test-apps", best-5, 100, 0, "plain"),
			runs.NewResult("trained-4", "test-seeds", 0, 0, 0, "plain"), // nothing was played
		},
	})
}

// column returns the texts of a column of the list of runs, by its heading.
func column(t *testing.T, x *tab, heading string) (out []string) {
	t.Helper()
	for _, v := range x.eval(fmt.Sprintf(`(() => {
		const heads = [...document.querySelectorAll('.lines .head > span')]
			.map((e) => e.querySelector('.sort')?.innerText);
		const i = heads.findIndex((h) => h && h.replace(/ [▾▴]$/, '') === %q);
		return [...document.querySelectorAll('.line.place')].map((l) => l.children[i].innerText.trim());
	})()`, heading)).([]any) {
		out = append(out, v.(string))
	}

	return out
}

func TestTheFirstPageIsATableOfEverything(t *testing.T) {
	b := everything(t)
	tags := func(s *spec.Spec) { s.Labels = map[string]string{"team": "web" + hostile[1]} }
	ended(t, b, "alpha", 30, 75, tags)
	ended(t, b, "beta", 40, 60)
	record(t, b, runs.Run("beta").Origin(), runs.Origin{Run: "alpha", Epoch: 1, Who: "bob"})
	record(t, b, lines.Line("shop").Entry(1), lines.Entry{
		Number: 1, Verb: lines.Promote, System: lines.SystemRef{Run: "alpha", Epoch: 2}, Who: "ann", Why: hostile[2],
	})
	nightly := schedules.Version{Number: 1, Who: "ann"}
	nightly.Schedule.Name, nightly.Schedule.Line, nightly.Schedule.When.Every = "nightly", "shop", "24h"
	record(t, b, schedules.Schedule("nightly").Version(1), nightly)
	names := view.Names{
		Runs: []string{"alpha", "beta", "crafted", "gone"}, Experiments: []string{"table"},
		Lines: []string{"production", "shop"}, Schedules: []string{"nightly"},
	}
	l := library(b, 1)
	l.States = func(_ context.Context, open []string) map[string]view.RunState {
		if !slices.Equal(open, []string{"crafted"}) {
			t.Errorf("asked for the states of %v, want those of crafted only: the others have ended", open)
		}

		return map[string]view.RunState{"crafted": {State: "paused", Reason: "no key" + hostile[0]}}
	}
	s := view.Server{
		Library: l, Index: func(context.Context) (view.Names, error) { return names, nil },
		Events: func(context.Context, string, string) (int, string) { return 0, "0" },
	}
	srv := httptest.NewServer(s.Handler(t.Context()))
	t.Cleanup(func() { srv.CloseClientConnections(); srv.Close() })

	x := newTab(t)
	x.open(srv.URL+"/", "document.querySelector('.line.place')")
	x.page("#/?sort=name", "3 of 3 runs")
	for heading, want := range map[string][]string{
		"name": {"alpha", "beta", "crafted"}, "state": {"finished", "finished", "paused 1/1"},
		"val, start": {"30.0 %", "40.0 %", ""}, "best": {"75.0 %", "60.0 %", ""}, "apps": {"70.0 %", "55.0 %", ""},
		"fork of": {"", "alpha@1", ""}, "line": {"shop", "", "production"}, "who": {"ann" + hostile[0], "bob", ""},
		"tags": {"team=web" + hostile[1], "", ""},
	} {
		if got := column(t, x, heading); !slices.Equal(got, want) {
			t.Errorf("the column %q is %q, want %q", heading, got, want)
		}
	}
	if got := x.eval("document.querySelector('.lines .head').innerText.includes('seeds')"); got != false {
		t.Error("a split of which no episode was played is a column, want none")
	}
	text := x.eval("document.querySelector('main').innerText").(string)
	for _, want := range []string{"Experiments", "1 of 2 hold", "Lines", "alpha@2", "Schedules", "every 24h"} {
		if !strings.Contains(text, want) {
			t.Errorf("the first page is\n%s\nwant %q in it", text, want)
		}
	}

	x.eval("[...document.querySelectorAll('.head .sort')].find((h) => h.innerText.startsWith('best')).click()")
	x.wait("document.querySelector('[aria-sort=descending]')?.innerText.startsWith('best')")
	if got := x.shown(); !slices.Equal(got, []string{"alpha", "beta", "crafted"}) {
		t.Errorf("by the best rate the runs are %v, want the best first and those without a rate last", got)
	}
	x.choose("search", "BOB")
	x.wait("document.body.innerText.includes('1 of 3 runs')")
	x.choose("search", "")
	x.choose("state", "paused")
	x.wait("document.querySelectorAll('.line.place').length === 1")
	x.choose("state", "")
	x.wait("document.querySelectorAll('.line.place').length === 3")
	for _, name := range []string{"alpha", "beta"} {
		x.eval(fmt.Sprintf("document.querySelector('input[aria-label=\"compare %s\"]').click()", name))
		x.wait(fmt.Sprintf("location.hash.includes('%s')", name))
	}
	want := "#/compare?a=alpha%2Fepoch-0002%2Ftrained-4%2Fval&b=beta%2Fepoch-0002%2Ftrained-4%2Fval"
	x.wait(fmt.Sprintf("document.querySelector('a.button')?.getAttribute('href') === %q", want))
	if n := x.eval("document.querySelectorAll('main img, main iframe, main b').length"); n != 0.0 {
		t.Errorf("%v elements came from texts, want none", n)
	}
	x.quiet()
}

// TestAReportBeginsWithTheTable covers the first page of a report, which knows no states but "finished".
func TestAReportBeginsWithTheTable(t *testing.T) {
	var b store.Memory
	ended(t, &b, "alpha", 30, 75)
	ended(t, &b, "beta", 40, 60)
	x := newTab(t)
	x.open(writeReport(t, &b, "alpha", "beta"), "document.querySelector('.line.place')")
	x.page("#/?sort=-best", "2 of 2 runs")
	if got, want := column(t, x, "best"), []string{"75.0 %", "60.0 %"}; !slices.Equal(got, want) {
		t.Errorf("the best rates are %q, want %q", got, want)
	}
	x.quiet()
}
