package view_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/test/kit/testrun"
)

// positive reports whether a document has a number above 0 at a key.
func positive(t *testing.T, doc any, key string) bool {
	t.Helper()
	n, ok := at(t, doc, key).(float64)

	return ok && n > 0
}

func TestEveryFilterLeavesTheEpisodesThatItNames(t *testing.T) {
	var b store.Memory
	run := crafted(t, &b)
	rows := document(t, library(&b, 1), "rows/"+string(run)+"/1").([]any)
	has := func(keys ...string) func(any) bool {
		return func(r any) bool {
			return slices.ContainsFunc(keys, func(k string) bool { return positive(t, r, k) })
		}
	}
	is := func(key, value string) func(any) bool {
		return func(r any) bool { return at(t, r, key) == value }
	}
	x := newTab(t)
	x.open(writeReport(t, &b, string(run)), "document.querySelector('h1')")
	x.page("#/run/crafted/episodes", "4 of 4 episodes")
	for _, c := range []struct {
		label, value string
		keep         func(row any) bool
	}{
		{"critic against judge", "", has("against")},
		{"ties", "", has("ties")},
		{"changed by reading", "", has("changed")},
		{"invalid", "", has("invalid", "unparsed")},
		{"refused", "", has("refused")},
		{"void attempts", "", has("void")},
		{"template", "drag", is("template", "drag")},
		{"template", "tap" + hostile[0], is("template", "tap"+hostile[0])},
		{"state", "solved", is("state", "solved")},
		{"state", "not solved", is("state", "not solved")},
		{"state", "failed", is("state", "failed")},
		{"state", "open", is("state", "open")},
		{"agent was wrong", "0", func(r any) bool {
			wrong, ok := at(t, r, "wrong").([]any)

			return ok && len(wrong) > 0 && wrong[0] != 0.0
		}},
		{"search", "DRAG", is("template", "drag")},
		{"search", "1/3", func(r any) bool { return at(t, r, "slot") == 3.0 }},
	} {
		want := []string{}
		for _, r := range rows {
			if c.keep(r) {
				want = append(want, fmt.Sprintf("1/%v", at(t, r, "slot")))
			}
		}
		if len(want) == 0 || len(want) == len(rows) {
			t.Fatalf("%s %s: the fixture has %v, want some episodes and not all", c.label, c.value, want)
		}
		x.choose(c.label, c.value)
		x.wait(fmt.Sprintf("document.body.innerText.includes('%d of 4 episodes')", len(want)))
		if got := x.shown(); !slices.Equal(got, want) {
			t.Errorf("%s %s: got %v, want %v", c.label, c.value, got, want)
		}
		x.choose(c.label, "")
		x.wait("document.body.innerText.includes('4 of 4 episodes')")
	}
	x.quiet()
}

func TestEveryOrderPutsTheLargestFirst(t *testing.T) {
	r, _ := testrun.Learned(t)
	name := r.Spec.Name
	x := newTab(t)
	x.open(writeReport(t, r.Bucket, name), "document.querySelector('h1')")
	x.page("#/run/"+name+"/episodes", "20 of 20 episodes")
	type line struct {
		name string
		rank float64
	}
	for order, key := range map[string]string{"length": "steps", "cost": "tokens", "surprise": "surprise"} {
		var lines []line
		for _, epoch := range []string{"1", "2"} {
			for _, row := range document(t, library(r.Bucket, 1), "rows/"+name+"/"+epoch).([]any) {
				n, _ := at(t, row, key).(float64)
				lines = append(lines, line{fmt.Sprintf("%s/%v", epoch, at(t, row, "slot")), n})
			}
		}
		var before, want []string
		for _, l := range lines {
			before = append(before, l.name)
		}
		slices.SortStableFunc(lines, func(a, b line) int { return cmp.Compare(b.rank, a.rank) })
		for _, l := range lines {
			want = append(want, l.name)
		}
		if slices.Equal(before, want) {
			t.Errorf("by %s the episodes are in order already, want a fixture in which they are not", order)
		}
		x.choose("order", order)
		x.wait("location.hash.includes('sort=" + order + "')")
		x.wait(fmt.Sprintf("document.querySelector('.line.place a').textContent === %q", want[0]))
		if got := x.shown(); !slices.Equal(got, want) {
			t.Errorf("by %s the list is %v, want %v", order, got, want)
		}
	}
	x.quiet()
}

// crowd writes the run "crowd", whose one episode has two steps of ten agents.
func crowd(t *testing.T, b store.Bucket) runs.Run {
	t.Helper()
	s := spec.Default()
	s.Name, s.Agents, s.Rounds, s.Epochs, s.Slots = "crowd", 10, 1, 1, 1
	run := runs.Run(s.Name)
	record(t, b, run.Spec(), s)
	record(t, b, run.Topology(1), domain.Topology{Agents: 10, Edges: [][2]int{{0, 9}}})
	slot := domain.Slot{Epoch: 1, Number: 1, Task: domain.Task{Template: "tap", Split: "train", MaxSteps: 3}}
	record(t, b, run.Slots(1), runs.Slots{Epoch: 1, Slots: []domain.Slot{slot}})
	record(t, b, run.Start(1, 1, 1), runs.Start{Slot: slot, Attempt: 1})
	end := runs.Episode{Slot: slot, Attempt: 1, Goal: "tap it", Outcome: domain.Outcome{Success: true, Steps: 2}}
	for number := 1; number <= 2; number++ {
		step := hostileStep()
		cell := step.Decision.Cells[0]
		step.Number, step.Decision.Cells, step.Decision.Seen = number, nil, nil
		for agent := range 10 {
			cell.Agent = agent
			step.Decision.Cells = append(step.Decision.Cells, cell)
		}
		end.Steps = append(end.Steps, record(t, b, run.Step(1, 1, 1, number), runs.Step{Step: step}))
	}
	record(t, b, run.Attempt(1, 1, 1), end)

	return run
}

func TestKeysGoToStepsAndAgents(t *testing.T) {
	var b store.Memory
	crowd(t, &b)
	x := newTab(t)
	x.open(writeReport(t, &b, "crowd"), "document.querySelector('h1')")
	x.page("#/episode/crowd/1/1", "Decision in step 1")
	for _, k := range []struct{ key, then string }{
		{"ArrowRight", "/2"}, {"ArrowRight", "/2"}, {"ArrowLeft", "/1"}, {"ArrowLeft", "/1"},
		{"ArrowDown", "/1/0.0"}, {"ArrowDown", "/1/1.0"}, {"ArrowUp", "/1/0.0"}, {"ArrowRight", "/2/0.0"},
		{"0", "/2/0.0"}, {"1", "/2/1.0"}, {"3", "/2/3.0"}, {"4", "/2/4.0"}, {"5", "/2/5.0"}, {"6", "/2/6.0"},
		{"7", "/2/7.0"}, {"8", "/2/8.0"}, {"9", "/2/9.0"}, {"ArrowDown", "/2/9.0"}, {"Escape", "/2"},
	} {
		x.key(k.key)
		x.wait(fmt.Sprintf("location.hash === '#/episode/crowd/1/1%s'", k.then))
		x.wait(fmt.Sprintf("document.body.innerText.includes('Decision in step %c')", k.then[1]))
		x.wait(fmt.Sprintf("document.querySelectorAll('.cell.here').length === %d", strings.Count(k.then, ".")))
	}
	x.quiet()
}

func TestTheSearchKeyGoesToTheFieldOfTheList(t *testing.T) {
	var b store.Memory
	pictured(t, &b)
	x := newTab(t)
	x.open(writeReport(t, &b, "crafted"), "document.querySelector('h1')")
	const evaluation = "#/evaluation/crafted/final%2Ftrained-2%2Fval"
	const search, choice = "search for episodes", "choice of systems"
	for _, c := range []struct{ page, text, help, field, hash string }{
		{"#/run/crafted/episodes", "5 of 5 episodes", search, "#search", "#/run/crafted/episodes"},
		{"#/run/crafted", "Who reads whom", search, "#search", "#/run/crafted/episodes"},
		{"#/run/crafted/data", "", search, "#search", "#/run/crafted/episodes"},
		{
			"#/episode/crafted/1/1/1/0.1?tie=1", "Agent 0, round 2", search, "#search", "#/run/crafted/episodes?tie=1",
		},
		{evaluation, "1 of 1 episodes", search, "#search", evaluation},
		{evaluation + "/1", "Decision in step 1", search, "#search", evaluation},
		{"#/compare", "Compare", choice, "select", "#/compare"},
		{"#/experiment/none", "", "", "", "#/experiment/none"},
	} {
		x.eval("document.activeElement.blur()")
		x.page(c.page, c.text)
		x.wait("document.querySelector('h1') && !document.querySelector('.wait')")
		x.key("?")
		x.wait("document.querySelector('.help')")
		help := x.eval("[...document.querySelectorAll('.help div')].map((d) => d.innerText).join('; ')").(string)
		for _, text := range []string{search, choice} {
			if strings.Contains(help, text) != (c.help == text) {
				t.Errorf("help on %s is %q, want %q for /", c.page, help, c.help)
			}
		}
		if got, want := strings.Contains(help, "rounds"), strings.Contains(c.text, "ound 2") ||
			strings.Contains(c.text, "Decision"); got != want {
			t.Errorf("help on %s names the keys of an episode: %v, want %v: %q", c.page, got, want, help)
		}
		x.key("?")
		x.key("/")
		if c.field != "" {
			x.wait("document.activeElement.matches('.filters " + c.field + "')")
		}
		x.wait(fmt.Sprintf("location.hash === %q", c.hash))
	}
	x.quietBut("ERR_FILE_NOT_FOUND")
}
