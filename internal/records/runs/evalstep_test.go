package runs_test

import (
	"math"
	"slices"
	"testing"

	"github.com/collabui/collabui/internal/records/runs"
)

// spoken returns a step of two agents in three rounds. The second agent was not called in the last round.
func spoken(texts ...string) runs.EvalStep {
	s := runs.EvalStep{Right: []string{"right", "also right"}}
	for i, text := range texts {
		s.Cells = append(s.Cells, runs.EvalCell{Agent: i / 3, Round: i % 3, Text: text, Canonical: text})
	}

	return s
}

func TestReadingsCompareAnswersOfOneAgent(t *testing.T) {
	s := spoken("right", "wrong", "also right", "wrong", "wrong")
	want := []runs.Reading{{RightWrong: 1, WrongRight: 1}, {WrongWrong: 1}}
	if got := s.Readings(2); !slices.Equal(got, want) {
		t.Errorf("Readings = %+v, want %+v", got, want)
	}

	silent := runs.EvalStep{Right: s.Right}
	for _, cell := range s.Cells { // the agents of the first round, then the same agents for the second
		cell.Agent += 2 * cell.Round
		cell.Round = 0
		silent.Cells = append(silent.Cells, cell)
	}
	if got := silent.Readings(2); !slices.Equal(got, want) {
		t.Errorf("Readings of the silent system = %+v, want the same, %+v", got, want)
	}

	s.Cells[1].Round = 5
	if got := s.Readings(2)[0]; got != (runs.Reading{}) {
		t.Errorf("Readings without the round between = %+v, want nothing", got)
	}
	s.Right = nil
	if got := s.Readings(2); !slices.Equal(got, make([]runs.Reading, 2)) {
		t.Errorf("Readings where the right action is unknown = %+v, want nothing", got)
	}
	sum := runs.Reading{RightRight: 1, WrongRight: 2}.Plus(runs.Reading{RightRight: 3, WrongWrong: 4})
	if want := (runs.Reading{RightRight: 4, WrongRight: 2, WrongWrong: 4}); sum != want {
		t.Errorf("Plus = %+v, want %+v", sum, want)
	}
}

func TestEntropyIsAboutVotes(t *testing.T) {
	for name, c := range map[string]struct {
		answers []string
		want    float64
		none    bool
	}{
		"unanimous":                 {answers: []string{"click index=1", "click index=1"}},
		"two actions, equally":      {answers: []string{"a", "b", "b", "a"}, want: math.Log(2)},
		"three votes to one":        {answers: []string{"a", "b", "a", "a"}, want: math.Log(4) - 0.75*math.Log(3)},
		"neither speech nor errors": {answers: []string{"a", "pass", `tell text="a"`, "point index=1", "", "a"}},
		"nobody votes":              {answers: []string{"pass", ""}, none: true},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := spoken(c.answers...).Entropy()
			if math.Abs(got-c.want) > 1e-12 || ok == c.none {
				t.Errorf("Entropy = %v, %v; want %v, %v", got, ok, c.want, !c.none)
			}
		})
	}
}

func TestSaidIsWhatWasSaidLastBefore(t *testing.T) {
	e := runs.EvalEpisode{Steps: []runs.EvalStep{spoken("a", "b", "c", "d", "e"), spoken("f")}}
	for _, x := range []struct {
		step, agent, round int
		want               string
	}{
		{1, 0, 1, "b"}, {1, 1, 0, "d"},
		{1, 1, 2, "e"}, // not called: its answer in the previous round
		{2, 1, 1, "f"}, // the other agent was not called
		{9, 0, 0, "f"}, // the episode was shorter
	} {
		if got := e.Said(x.step, x.agent, x.round); got != x.want {
			t.Errorf("Said(%d, %d, %d) = %q, want %q", x.step, x.agent, x.round, got, x.want)
		}
	}
	if got := (runs.EvalEpisode{}).Said(1, 0, 0); got != "" {
		t.Errorf("Said of an episode without steps = %q, want nothing", got)
	}
}
