package runs_test

import (
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
