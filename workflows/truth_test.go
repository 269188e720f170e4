package workflows_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/method/credit"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/test/kit/testrun"
)

// wantTrueLabels checks that every label of a run is the judge's or ∅, and returns the numbers of labels and of ∅.
func wantTrueLabels(t *testing.T, r *testrun.Run) (labels, uncertain int) {
	t.Helper()
	for epoch := 1; epoch <= r.Spec.Epochs; epoch++ {
		for slot := 1; slot <= r.Spec.Slots; slot++ {
			c := read(t, r, runs.Run(r.Spec.Name).Credits(epoch, slot))
			for _, l := range c.Steps {
				n, u := wantTrueStep(t, r, epoch, slot, l)
				labels, uncertain = labels+n, uncertain+u
			}
		}
	}

	return labels, uncertain
}

// wantTrueStep checks that the labels of a step are the judge's or ∅, and returns the numbers of labels and of ∅.
func wantTrueStep(t *testing.T, r *testrun.Run, epoch, slot int, got domain.Credit) (labels, uncertain int) {
	t.Helper()
	st := read(t, r, runs.Run(r.Spec.Name).Step(epoch, slot, 1, got.Step))
	for j, want := range credit.Oracle(st.Step).Labels {
		labels++
		switch got.Labels[j] {
		case domain.Uncertain:
			uncertain++
		case want:
		default:
			t.Errorf("epoch %d, slot %d, step %d, cell %d has the label %d, want %d or ∅",
				epoch, slot, got.Step, j, got.Labels[j], want)
		}
	}

	return labels, uncertain
}

// wantTrueRow checks a row of a level against what its prompt says: the scripted goals name the button to tap.
func wantTrueRow(t *testing.T, level int, p domain.Example) {
	t.Helper()
	goal, buttons := asked(p.Prompt, level)
	tapped := func(text string) string {
		a, err := agents.ParseAnswer(text)
		if err != nil || a.Index == nil {
			return ""
		}
		return buttons[strconv.Itoa(*a.Index)]
	}

	if got := tapped(p.Chosen); got == "" || !strings.HasSuffix(goal, got) {
		t.Errorf("level %d: the chosen answer %q taps %q, want what %q asks for", level, p.Chosen, got, goal)
	}
	if got := tapped(p.Rejected); level == 3 && got == goal {
		t.Errorf("the rejected answer %q taps %q, want another button", p.Rejected, got)
	}
}

// asked returns what a prompt's goal asks for now, and the names of the buttons by their numbers.
func asked(prompt string, level int) (goal string, buttons map[string]string) {
	buttons = map[string]string{}
	for _, l := range strings.Split(prompt, "\n") {
		if g, ok := strings.CutPrefix(l, "Goal: "); ok {
			goal = g
		}
		if f := strings.Fields(l); len(f) == 3 && f[1] == "button" {
			buttons[f[0]] = f[2]
		}
		if at, ok := strings.CutPrefix(l, "6 text count "); ok && level == 3 {
			n, _ := strconv.Atoi(at)
			goal = strings.Split(strings.TrimPrefix(goal, "Tap "), " then ")[n]
		}
	}

	return goal, buttons
}
