package view_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/collabui/collabui/internal/experiment"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/experiments"
	"github.com/collabui/collabui/internal/records/lines"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/view"
)

// compared writes the experiment "table", with a contrast of every kind, and the line "production" with two entries.
func compared(t *testing.T, b store.Bucket, run runs.Run) {
	t.Helper()
	s := spec.Default()
	s.Name = "table"
	x := experiment.Experiment{
		Name: "table", About: "What it is about " + hostile[0], Spec: s, Seeds: 2,
		Episodes: map[string]int{"test-seeds": 10},
		Arms:     []experiment.Arm{{Name: "full"}, {Name: "rft"}},
	}
	row := func(primary bool, claim experiment.Claim, mean float64, holds, late bool) experiment.Row {
		c := experiment.Contrast{
			Of: "full/trained", Minus: "rft/trained", Split: "test-seeds", Primary: primary, Claim: claim,
		}
		x.Contrasts = append(x.Contrasts, c)

		return experiment.Row{
			Contrast: c, OfRate: 60, MinusRate: 60 - mean, Seeds: []float64{mean - 1, mean + 1}, Mean: mean,
			Low: mean - 4, High: mean + 4, WideLow: mean - 6, WideHigh: mean + 6, P: 0.02, Adjusted: 0.04,
			Holds: holds, Version: 1, Late: late,
		}
	}
	rows := []experiment.Row{
		row(true, "greater", 5.5, true, false), row(false, "greater", -3.2, false, false),
		row(false, "", 1.25, true, true),
	}
	rows[2].Repeated, rows[2].Missing, rows[2].Worst, rows[2].Best = true, 7, -2.5, 4.5
	entropy := 0.35
	e := experiments.Experiment("table")
	record(t, b, e.Version(1), experiments.Version{Number: 1, Experiment: x, Digest: "abc", Who: "me" + hostile[1]})
	more := x
	more.Seeds += 3
	record(t, b, e.Version(2), experiments.Version{Number: 2, Experiment: more, Digest: "def", Who: "me"})
	record(t, b, e.Result(1), experiments.Result{
		Version: 1, Digest: "abc", Rows: rows, Systems: systems(),
		Figures: map[string]experiment.Figures{
			"full/trained on test-seeds": {
				FalseCompletes: 0.25, Pass: []float64{0.6, 0.4}, PassAt: []float64{0.6, 0.84}, Entropy: &entropy,
			},
		},
	})
	for n, verb := range []lines.Verb{lines.Promote, lines.Reject} {
		record(t, b, lines.Line("production").Entry(n+1), lines.Entry{
			Number: n + 1, Verb: verb, System: lines.SystemRef{Run: string(run), Epoch: 1}, Who: "me",
			Why:     "why" + hostile[2],
			Results: []runs.Result{{System: "trained-2", Split: "val", Episodes: 10, Successes: 6, Rate: 0.6}},
		})
	}
}

// everyPage lists a page of every kind, with a text that it contains.
var everyPage = map[string]string{
	"#/run/small":                               "Tokens by role",
	"#/run/small/evaluations":                   "trained-4 after epoch 1, test-seeds",
	"#/run/small/updates":                       "Loss of agent 0",
	"#/run/small/data":                          "type of the chosen action",
	"#/episode/small/2/4/1/2.1":                 "Agent 2, round 2",
	"#/run/crafted/evaluations":                 "base-2",
	"#/evaluation/crafted/final%2Fbase-2%2Fval": "1 of 1 episodes",
	evaluated + "/1/0.1":                        "Agent 0, round 2",
	sideBySide:                                  "They differ first in step 1",
	"#/":                                        "production",
	"#/run/crafted":                             "Who reads whom",
	"#/run/crafted/episodes":                    "5 of 5 episodes",
	"#/run/crafted/updates":                     "log π(chosen)",
	"#/run/crafted/data":                        "",
	"#/run/crafted/specification":               "System message",
	"#/episode/crafted/1/1":                     "Decision in step 1",
	"#/episode/crafted/1/3/1/0.1":               "Agent 0, round 2",
	"#/episode/crafted/1/2":                     "it fell",
	"#/episode/spoken/1/1/1/2.1":                "Agent 2 saw",
	"#/episode/spoken/1/1/2":                    "Nobody acted",
	"#/run/spoken/messages":                     "Messages that mattered",
	"#/compare":                                 "Two evaluations that played the same tasks",
	"#/glossary?of=gate":                        "A rule that may keep the parent policy",
	"#/run/small?axis=time":                     "since the start",
	"#/run/small/specification?all=1":           "Bold: not the default",
	"#/experiment/table":                        "declared when results were known",
	"#/line/production":                         "Who accepted which system",
	"#/experiment/there-is-no-such":             "",
}

func TestExperimentsAndLinesAreTables(t *testing.T) {
	var b store.Memory
	compared(t, &b, crafted(t, &b))
	out := filepath.Join(t.TempDir(), "report")
	c := view.Contents{Runs: []string{"crafted"}, Experiments: []string{"table"}, Lines: []string{"production"}}
	if err := library(&b, 1).Report(t.Context(), out, c, func(string) {}); err != nil {
		t.Fatal(err)
	}
	x := newTab(t)
	x.open("file://"+out+"/index.html", "document.querySelector('h1')")
	x.page("#/experiment/table", "declared when results were known")
	text := x.eval("document.querySelector('main').innerText").(string)
	for _, want := range []string{
		"full/trained − rft/trained, test-seeds", "+5.5", "+1.5, +9.5", "−0.5, +11.5", "holds, primary", "fails",
		"0.040", "-3.2", "25.0 %", "7: -2.5 to +4.5 with them", "there is neither [t] nor p",
		"2 seeds; version 1 of the declaration", "Version 2, with 5 seeds, has no result yet",
	} {
		if !strings.Contains(text, want) && !strings.Contains(text, strings.ReplaceAll(want, "−0", "-0")) {
			t.Errorf("the page of the experiment is\n%s\nwant %q in it", text, want)
		}
	}
	if n := x.eval("document.querySelectorAll('main figure svg').length"); n != 2.0 {
		t.Errorf("the page of the experiment has %v pictures, want the forest plot and success against tokens", n)
	}
	x.page("#/line/production", "Who accepted which system")
	text = x.eval("document.querySelector('main').innerText").(string)
	for _, want := range []string{"1 (accepted)", "crafted@1", "why" + hostile[2], "60.0 %"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page of the line is\n%s\nwant %q in it", text, want)
		}
	}
	if n := x.eval("document.querySelectorAll('main img, main iframe, main b').length"); n != 0.0 {
		t.Errorf("%v elements came from texts, want none", n)
	}
	x.quiet()
}

// TestAxeFindsNothingSerious checks every page, light and dark, wide and narrow, with axe-core.
func TestAxeFindsNothingSerious(t *testing.T) {
	modules := os.Getenv("COLLABUI_AXE_NODE")
	if modules == "" {
		t.Skip("COLLABUI_AXE_NODE names no modules with axe-core; scripts/node.sh axe installs them")
	}
	axe, err := os.ReadFile(filepath.Join(modules, "axe-core", "axe.min.js"))
	if err != nil {
		t.Fatal(err)
	}
	url := served(t, everything(t))
	x := newTab(t)
	x.open(url, "document.querySelector('h1')")
	x.eval(string(axe) + "; 1")
	for _, look := range []struct {
		name, theme string
		width       int64
	}{
		{"light", "light", 1400}, {"dark", "dark", 1400}, {"narrow", "light", 380}, {"narrow and dark", "dark", 380},
	} {
		x.size(look.width, 900)
		x.eval(fmt.Sprintf("document.documentElement.dataset.theme = %q", look.theme))
		for hash, text := range everyPage {
			x.page(hash, text)
			x.wait("document.querySelector('h1') && !document.querySelector('.wait')")
			x.eval("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
			found := x.eval(`axe.run(document).then((r) => r.violations
				.filter((v) => ['serious', 'critical'].includes(v.impact))
				.map((v) => v.id + ': ' + v.nodes.slice(0, 3).map((n) => n.html.slice(0, 200)).join(' | ')))`).([]any)
			for _, f := range found {
				t.Errorf("%s, %s: %v, want nothing serious", hash, look.name, f)
			}
		}
	}
}

func TestPagesPrintWithoutWhatOnlyScreensNeed(t *testing.T) {
	var b store.Memory
	run := crafted(t, &b)
	x := newTab(t)
	x.open(writeReport(t, &b, string(run)), "document.querySelector('h1')")
	x.page("#/episode/crafted/1/1/1/0.1", "Agent 0, round 2")
	x.eval("document.documentElement.dataset.theme = 'dark'; dispatchEvent(new Event('beforeprint'))")
	x.media("print")
	for selector, want := range map[string]bool{".top button": false, ".crumbs button": false, ".matrix": true} {
		got := x.eval(fmt.Sprintf("document.querySelector(%q)?.checkVisibility() === true", selector))
		if got != want {
			t.Errorf("in print, %s is seen: %v, want %v", selector, got, want)
		}
	}
	if back := x.eval("getComputedStyle(document.body).backgroundColor"); back != "rgb(255, 255, 255)" {
		t.Errorf("the paper is %v, want white", back)
	}
	x.eval("dispatchEvent(new Event('afterprint'))")
	if theme := x.eval("document.documentElement.dataset.theme"); theme != "dark" {
		t.Errorf("after printing the theme is %v, want dark", theme)
	}
}
