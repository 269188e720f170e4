package view_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/experiment"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/experiments"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/view"
)

// task is the outcome of an evaluated episode, with the seed of its task.
type task struct {
	seed  uint64
	right bool
}

// evaluates records an evaluation of a run whose episodes have one step each.
func evaluates(t *testing.T, b store.Bucket, run runs.Run, id string, tasks ...task) string {
	t.Helper()
	for i, x := range tasks {
		step := hostileStep()
		record(t, b, run.EvalEpisode(id, i+1), runs.EvalEpisode{
			Task: domain.Task{Template: "tap", Split: "val", Seed: x.seed}, Goal: fmt.Sprint("task ", x.seed),
			Outcome: domain.Outcome{Success: x.right, Steps: 1},
			Steps:   []runs.EvalStep{runs.NewEvalStep(step.Goal, step.Observation, step.Decision)},
		})
	}
	record(t, b, run.Result(id), runs.NewResult(strings.Split(id, "/")[1], "val", 0, len(tasks), 0, "plain"))

	return string(run) + "/" + id
}

// comparing returns the address of the page that compares evaluations.
func comparing(a, b string, more ...string) string {
	list := strings.Join(more, ",")

	return strings.NewReplacer("/", "%2F", ",", "%2C").Replace("?a=" + a + "&b=" + b + "&more=" + list)
}

func TestSystemsAreComparedOnTheSameTasks(t *testing.T) {
	var b store.Memory
	run := crafted(t, &b)
	first := evaluates(t, &b, run, "final/first/val",
		task{1 << 60, true}, task{2, false}, task{3, true}, task{4, true})
	second := evaluates(t, &b, run, "final/second/val",
		task{4, false}, task{3, true}, task{1<<60 + 1, true}, task{2, true})
	third := evaluates(t, &b, run, "final/third/val", task{3, false}, task{4, true})
	other := evaluates(t, &b, run, "final/other/val", task{5, false})

	x := newTab(t)
	x.open(serve(t, &b, string(run)), "document.querySelector('h1')")
	for _, want := range []string{
		"wrong→right: 1", "right→wrong: 1", "both right: 1", "both wrong: 0", "3 paired episodes",
		"A: crafted (not finished), first",
	} {
		x.page("#/compare"+comparing(first, second), want)
	}
	x.page("#/compare"+comparing(first, second)+"&kind=right→wrong", "task 4")
	if got := x.eval("document.querySelectorAll('.line.place').length"); got != 1.0 {
		t.Errorf("got %v episodes that became wrong, want 1", got)
	}
	x.page("#/compare"+comparing(first, other), "did not play the same tasks")

	three := "#/compare" + comparing(first, second, third)
	x.page(three, "A 66.7 %, B 66.7 %, C 50.0 % right; kinds are those of A and B")
	x.page(three+"&n=4", "step 1 of 1")
	x.wait("document.querySelectorAll('.sides svg.screen').length === 3")
	states := x.eval("[...document.querySelectorAll('.sides h3 .state')].map((s) => s.innerText).join()")
	if states != "✓ solved,✗ not solved,✓ solved" {
		t.Errorf("the sides of task 4 are %v, want those of its three episodes", states)
	}
	x.page(three+"&n=2", "It did not play this task.")
	x.eval("[...document.querySelectorAll('button')].find((b) => b.textContent.includes('without C')).click()")
	x.wait("!location.hash.includes('third')")
	x.quiet()
}

func TestAnExperimentLeadsToItsArmsSideBySide(t *testing.T) {
	var b store.Memory
	s := spec.Default()
	s.Name, s.Decoding.Temperatures = "table", []float64{0.5}
	x := experiment.Experiment{
		Name: "table", Spec: s, Seeds: 1, Episodes: map[string]int{"val": 1},
		Arms: []experiment.Arm{{Name: "full"}, {Name: "rft"}, {Name: "none"}},
		Contrasts: []experiment.Contrast{
			{Of: "full/trained", Minus: "rft/trained", Split: "val"},
			{Of: "full/trained", Minus: "none/trained", Split: "val"},
		},
	}
	record(t, &b, experiments.Experiment("table").Version(1), experiments.Version{Number: 1, Experiment: x})
	for i, arm := range x.Arms {
		run := runs.Run(x.Run(arm.Name, 1))
		s.Name = string(run)
		record(t, &b, run.Spec(), s)
		evaluates(t, &b, run, "experiment/trained/val", task{1, i == 0})
	}

	tab := newTab(t)
	out := filepath.Join(t.TempDir(), "report")
	c := view.Contents{Experiments: []string{"table"}}
	err := library(&b, 1).Report(t.Context(), out, c, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	tab.open("file://"+out+"/index.html", "document.querySelector('h1')")
	tab.page("#/experiment/table", "trained on val: full, rft, none")
	tab.eval("[...document.querySelectorAll('li')].find((l) => l.innerText.startsWith('trained on val'))" +
		".querySelector('a').click()")
	for _, want := range []string{
		"A 100.0 %, B 0.0 %, C 0.0 % right", "right→wrong: 1", "This report has only lines about these episodes",
	} {
		tab.wait(fmt.Sprintf("document.body.innerText.includes(%q)", want))
	}
	// The browser may complain that files of whole episodes are missing, because pages find out by requesting them.
	tab.page("#/evaluation/table-full-s1/experiment%2Ftrained%2Fval", "1 of 1 episodes")
	tab.page("#/evaluation/table-full-s1/experiment%2Ftrained%2Fval/1", "has only lines about these episodes")
}
