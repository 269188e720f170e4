package view_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/view"
	"github.com/collabui/collabui/test/kit/testrun"
)

// writeReport writes a report and returns the address of its first page.
func writeReport(t testing.TB, b store.Bucket, names ...string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "report")
	err := library(b, 1).Report(t.Context(), out, view.Contents{Runs: names}, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	return "file://" + out + "/index.html"
}

// serve serves a store and returns the address of its first page.
func serve(t *testing.T, b store.Bucket, names ...string) string {
	t.Helper()
	s := view.Server{
		Library: library(b, 1),
		Index:   func(context.Context) (view.Names, error) { return view.Names{Runs: names}, nil },
		Events:  func(context.Context, string, string) (int, string) { return 0, "0" },
	}
	ctx, cancel := context.WithCancel(context.Background())
	srv := httptest.NewServer(s.Handler(ctx))
	t.Cleanup(func() { cancel(); srv.CloseClientConnections(); srv.Close() })

	return srv.URL + "/"
}

// forms returns the addresses of all ways in which pages reach people.
func forms(t *testing.T, b store.Bucket, names ...string) map[string]string {
	t.Helper()

	return map[string]string{
		"folder": writeReport(t, b, names...), "server": serve(t, b, names...),
	}
}

func TestEveryPageIsDrawn(t *testing.T) {
	r, end := testrun.Learned(t)
	x := newTab(t)
	name := r.Spec.Name
	for form, url := range forms(t, r.Bucket, name) {
		x.open(url, "document.querySelector('h1')")
		for hash, want := range map[string]string{
			"#/":                               name,
			"#/run/" + name:                    "Success by epoch",
			"#/run/" + name + "/episodes":      "20 of 20 episodes",
			"#/run/" + name + "/evaluations":   end.Results[0].System,
			"#/run/" + name + "/updates":       "log π(chosen)",
			"#/run/" + name + "/data":          "style AUC",
			"#/run/" + name + "/specification": "rounds: 2",
			"#/run/" + name + "/no":            "There is no such page",
			"#/nothing":                        "There is no such page",
			"#/run/other":                      "",
			"#/episode/" + name + "/1/3":       "Decision in step 1",
			"#/episode/" + name + "/2/4/1/2.1": "Agent 2, round 2",
			"#/compare":                        "Compare",
			"#/%E0%A4%A":                       "There is no such page",
		} {
			if strings.HasSuffix(hash, "other") {
				x.eval(fmt.Sprintf("location.hash = %q", hash))
				x.wait("document.querySelector('.trouble')")
				x.complaints = nil // a missing file is a complaint

				continue
			}
			x.page(hash, want)
		}
		x.page("#/run/"+name, "≈ 30") // tokens that the server of a model does not report
		t.Log(form)
		x.quiet()
	}
}

// Pages of everything.
const (
	evaluated  = "#/evaluation/crafted/final%2Fbase-2%2Fval/1"
	sideBySide = "#/compare?a=crafted%2Ffinal%2Fbase-2%2Fval&b=crafted%2Ffinal%2Ftrained-2%2Fval&n=1"
)

func TestTextsOfPagesAndModelsDoNothing(t *testing.T) {
	b := everything(t)
	x := newTab(t)
	for form, url := range forms(t, b, "crafted") {
		x.open(url, "document.querySelector('h1')")
		for _, hash := range []string{
			"#/run/crafted", "#/run/crafted/episodes", "#/run/crafted/updates", "#/run/crafted/specification",
			"#/run/crafted/evaluations", "#/run/crafted/data", "#/evaluation/crafted/final%2Fbase-2%2Fval",
			evaluated, evaluated + "/1/0.1", sideBySide,
			"#/episode/crafted/1/1", "#/episode/crafted/1/1/1/0.1", "#/episode/crafted/1/1/1/1.0",
			"#/episode/crafted/1/2",
			"#/episode/crafted/1/3/1/0.1", "#/episode/crafted/1/3/1/1.0", "#/episode/crafted/1/4",
		} {
			x.eval("location.hash = " + fmt.Sprintf("%q", hash))
			x.wait("document.querySelector('h1') && !document.querySelector('.wait')")
			got := x.eval("document.querySelectorAll('img, iframe, main b, main script, svg[onload]').length" +
				" + document.querySelectorAll('[href^=\"javascript:\"]').length")
			if got != 0.0 {
				t.Errorf("%s, %s: %v elements came from texts, want none", form, hash, got)
			}
		}
		for hash, want := range map[string]string{
			"#/episode/crafted/1/1/1/0.0": "I think" + hostile[0], "#/run/crafted/data": "tap" + hostile[0],
			"#/run/crafted/updates": "KL too large" + hostile[1], evaluated: hostile[2], sideBySide: hostile[1],
		} {
			x.page(hash, want)
		}
		for _, want := range []string{
			"val fell" + hostile[0], "(failed slots accepted by me" + hostile[1], "not taken: val fell" + hostile[0],
			"m" + hostile[1], "why" + hostile[1],
		} {
			x.page("#/run/crafted", want)
		}
		x.page("#/episode/crafted/1/2", hostile[1])
		x.page("#/episode/crafted/1/3", hostile[2])
		x.page("#/run/crafted", "Tried again")
		x.page("#/run/crafted", "2 void attempts and failed slots")
		if got := x.eval("window.pwned === undefined"); got != true {
			t.Errorf("%s: got window.pwned, want no text executed", form)
		}
		x.quiet()
	}
}

func TestEpisodesAreFilteredSortedAndReachedByKeys(t *testing.T) {
	r, _ := testrun.Learned(t)
	x := newTab(t)
	name := r.Spec.Name
	x.open(writeReport(t, r.Bucket, name), "document.querySelector('h1')")
	x.page("#/run/"+name+"/episodes", "20 of 20 episodes")
	rows := document(t, library(r.Bucket, 1), "rows/"+name+"/1").([]any)
	solved := 0
	for _, row := range rows {
		if at(t, row, "state") == "solved" {
			solved++
		}
	}

	x.choose("epoch", "1")
	x.wait("document.body.innerText.includes('10 of 20 episodes')")
	x.choose("state", "solved")
	x.wait(fmt.Sprintf("document.body.innerText.includes('%d of 20 episodes')", solved))
	x.choose("state", "")
	x.choose("order", "length")
	x.wait("location.hash.includes('sort=length')")
	lines := "[...document.querySelectorAll('.line.place')]"
	steps := x.eval(lines + ".map((l) => Number(l.children[4].textContent))").([]any)
	for i := 1; i < len(steps); i++ {
		if steps[i].(float64) > steps[i-1].(float64) {
			t.Errorf("sorted by length the steps are %v, want the longest first", steps)
		}
	}
	x.choose("search", "1/7")
	x.wait("document.body.innerText.includes('1 of 20 episodes')")
	x.eval("document.querySelector('.line.place a').click()")
	x.wait("location.hash.includes('/1/7')")

	x.page("#/episode/"+name+"/1/3", "3 of 20") // the list has loaded
	for _, k := range []struct{ key, then string }{
		{"j", "/1/4"}, {"k", "/1/3"}, {"2", "/1/3/1/2.1"}, {"ArrowUp", "/1/3/1/1.1"}, {"[", "/1/3/1/1.0"},
		{"]", "/1/3/1/1.1"}, {"Escape", "/1/3/1"},
	} {
		x.key(k.key)
		x.wait(fmt.Sprintf("location.hash === '#/episode/%s%s'", name, k.then))
		place := strings.Split(k.then, "/")
		x.wait(fmt.Sprintf("document.body.innerText.includes('epoch %s, slot %s')", place[1], place[2]))
		x.wait(fmt.Sprintf("document.querySelectorAll('.cell.here').length === %d", strings.Count(k.then, ".")))
	}
	x.key("?")
	x.wait("document.body.innerText.includes('this help')")
	x.key("t")
	x.wait("document.documentElement.dataset.theme")
	x.quiet()
}

// TestABadCriticIsFoundInFiveClicks follows docs/see.md with real clicks.
func TestABadCriticIsFoundInFiveClicks(t *testing.T) {
	var b store.Memory
	run := string(crafted(t, &b))
	x := newTab(t)
	for form, url := range forms(t, &b, run) {
		x.open(url, "document.querySelector('h1')")
		x.page("#/run/"+run, "Cells on which critic and judge agree")
		for _, click := range []string{
			"[...document.querySelectorAll('figure.table')].find((f) => f.textContent.startsWith('Epochs'))" +
				".querySelector('tbody a')",
			"[...document.querySelectorAll('.flag')].find((l) => l.textContent.includes('critic against judge'))",
			"document.querySelector('.line.place a')",
			"document.querySelector('.cell:has(.against)')",
		} {
			x.wait(click)
			x.eval("(" + click + ").click()")
		}
		for _, want := range []string{
			"Agent 1, round 1", "score 0.90", "it looks right", "what the critic took for right",
			"What the agent was asked",
		} {
			x.wait(fmt.Sprintf("document.querySelector('.answer')?.innerText.includes(%q)", want))
		}
		t.Log(form)
		x.quiet()
	}
}

func TestPagesAreTakenFromTheirOwnServerOnly(t *testing.T) {
	var b store.Memory
	run := runs.Run(crafted(t, &b))
	x := newTab(t)
	x.open(serve(t, &b, string(run)), "document.querySelector('h1')")
	x.complaints = nil
	got := x.eval(`fetch('https://example.org/').then(() => 'answered', () => 'refused')`)
	if got != "refused" || len(x.complaints) == 0 || !strings.Contains(x.complaints[0], "Content Security Policy") {
		t.Errorf("a request to another host was %v (%v), want it refused by the policy", got, x.complaints)
	}
}
