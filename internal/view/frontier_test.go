package view_test

import (
	"strings"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/view"
)

// costing returns a result of 10 episodes with a cost of so many tokens per prompt, 100 prompts in 50 turns.
func costing(system string, successes, prompt int) runs.Result {
	result := runs.NewResult(system, "test-seeds", successes, 10, 0, "plain")
	result.Cost = runs.Cost{Calls: 100, Turns: 50, Usage: domain.Usage{Prompt: 100 * prompt, Answer: 1000}}

	return result
}

// systems returns the results of an experiment's systems with two seeds. The last system has no recorded cost with the
// second seed, and another one costs money.
func systems() []map[string]runs.Result {
	paid := costing("trained", 6, 300)
	paid.Money = 2.5
	none := costing("base-2", 3, 50)
	none.Cost = runs.Cost{}

	return []map[string]runs.Result{
		{
			"full/trained on test-seeds": paid, "rft/trained on test-seeds": costing("trained", 4, 100),
			"full/base" + hostile[0] + " on test-seeds": costing("base-2", 2, 50),
		},
		{
			"full/trained on test-seeds": paid, "rft/trained on test-seeds": costing("trained", 6, 100),
			"full/base" + hostile[0] + " on test-seeds": none,
		},
	}
}

// rowsOf returns the texts of the rows of tables that begin with a text.
func rowsOf(x *tab, first string) (rows []string) {
	x.t.Helper()
	all := x.eval(`[...document.querySelectorAll('main tbody tr')].map((r) => [...r.cells].map((c) =>
		c.textContent.trim()).join(' | '))`).([]any)
	for _, row := range all {
		if strings.HasPrefix(row.(string), first) && !strings.Contains(row.(string), "−") {
			rows = append(rows, row.(string))
		}
	}

	return rows
}

func TestSystemsHaveCostsAndAPictureOfSuccessAgainstTokens(t *testing.T) {
	var b store.Memory
	compared(t, &b, crafted(t, &b))
	x := newTab(t)
	out := t.TempDir() + "/report"
	c := view.Contents{Runs: []string{"crafted"}, Experiments: []string{"table"}}
	if err := library(&b, 1).Report(t.Context(), out, c, func(string) {}); err != nil {
		t.Fatal(err)
	}
	x.open("file://"+out+"/index.html", "document.querySelector('h1')")
	x.page("#/experiment/table", "Success against tokens on test-seeds")
	for first, want := range map[string][2]string{
		// 60,000 prompt tokens in 100 turns; 62,000 tokens, 200 calls and 5 of money for 12 successes.
		"full/trained on": {
			"12 of 20 | 60.0 % | 38.7 to 78.1 | 60.0 | 40.0 |  | 84.0 |  | 0.35 | 25.0 %",
			"600 | 5,167 | 16.7 | 0.4167",
		},
		"rft/trained on": {"10 of 20 | 50.0 % | 29.9 to 70.1 |  |  |  |  |  |  | ", "200 | 2,200 | 20.0 | –"},
		"full/base":      {"5 of 20 | 25.0 % | 11.2 to 46.9 |  |  |  |  |  |  | ", "– | – | – | –"},
	} {
		got := rowsOf(x, first)
		if len(got) != 2 || !strings.HasSuffix(got[0], " | "+want[0]) || !strings.HasSuffix(got[1], " | "+want[1]) {
			t.Errorf("the rows of %s are %q, want one in each of both tables that ends with %q", first, got, want)
		}
	}
	label := x.eval("document.querySelector('.frontier svg').getAttribute('aria-label')").(string)
	for _, want := range []string{
		"full/trained: 60.0 % [38.7 %, 78.1 %] at 3,100 tokens per episode", "rft/trained: 50.0 % ",
	} {
		if !strings.Contains(label, want) {
			t.Errorf("the picture is named %q, want %q in it", label, want)
		}
	}
	if n := x.eval("document.querySelectorAll('.frontier .dot').length"); n != 2.0 {
		t.Errorf("the picture has %v points, want 2: tokens of the third system are not known for all seeds", n)
	}
	if n := x.eval("document.querySelectorAll('main img, main iframe, main b').length"); n != 0.0 {
		t.Errorf("%v elements came from texts, want none", n)
	}
	x.quiet()
}

func TestLabelsOfPointsDoNotCoverEachOther(t *testing.T) {
	var b store.Memory
	x := newTab(t)
	x.open(serve(t, &b), "document.querySelector('h1')")
	got := x.eval(`(() => {
		const points = Array.from({ length: 8 }, (_, i) => ({
			x: 200 + 4 * i, y: 100 + i, low: 120, high: 80, width: 70 }));
		const boxes = labelled(points, [460, 216]).map((p) => p.box);
		return boxes.flatMap((a, i) => boxes.slice(i + 1).filter((b) => covers(a, b))).length +
			boxes.filter(([l, t, r, b]) => l < 0 || t < 0 || r > 460 || b > 216).length;
	})()`)
	if got != 0.0 {
		t.Errorf("%v labels cover another one or are cut, want none", got)
	}
	best := x.eval(`frontier([{ x: 3, y: 0.9 }, { x: 1, y: 0.5 }, { x: 2, y: 0.4 }, { x: 1, y: 0.2 }, { x: 4, y: 0.9 }])
		.map((p) => p.x + ':' + p.y).join(' ')`)
	if best != "1:0.5 3:0.9" {
		t.Errorf("the best points are %v, want 1:0.5 and 3:0.9", best)
	}
}

func TestATurnIsAnAgentAtAStep(t *testing.T) {
	episode := runs.EvalEpisode{Steps: []runs.EvalStep{
		{Cells: []runs.EvalCell{{Agent: 0}, {Agent: 0, Round: 1}, {Agent: 1, Calls: 2}}},
		{Cells: []runs.EvalCell{{Agent: 1}}},
	}}
	cost := episode.Cost().Plus(episode.Cost())
	if cost.Turns != 6 || cost.Calls != 10 {
		t.Errorf("two episodes have %d turns and %d calls, want 6 and 10", cost.Turns, cost.Calls)
	}
}
