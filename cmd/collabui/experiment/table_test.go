package experiment

import (
	"strings"
	"testing"

	"github.com/collabui/collabui/internal/experiment"
	"github.com/collabui/collabui/internal/records/experiments"
	"github.com/collabui/collabui/internal/records/runs"
)

func TestAnArmThatNothingTrainedIsNamed(t *testing.T) {
	for counted, loud := range map[int]bool{0: true, 1: false} {
		got := updatesLine("fbc1", experiments.Updates{Counted: counted, All: 36})
		if strings.Contains(got, "NONE") != loud {
			t.Errorf("with %d of 36 updates it says %q, want a warning: %v", counted, got, loud)
		}
	}
}

func TestFiguresAreShownAsFarAsTheyAreKnown(t *testing.T) {
	entropy := 0.345
	for want, figures := range map[string]experiment.Figures{
		"false completes 25.0 %": {FalseCompletes: 0.25},
		"pass^1 50.0 % of a template; entropy of votes 0.34 nats; false completes 0.0 %": {
			Pass: []float64{0.5}, PassAt: []float64{0.5}, Entropy: &entropy,
		},
		"pass^1, ^2, ^4 50.0, 30.0, 10.0 % of a template; pass@2, @4 70.0, 90.0 %; false completes 0.0 %": {
			Pass: []float64{0.5, 0.3, 0.1}, PassAt: []float64{0.5, 0.7, 0.9},
		},
	} {
		if got := figuresText(figures); got != want {
			t.Errorf("figuresText = %q, want %q", got, want)
		}
	}
}

func TestReadersStandBesideTheSameAgentsWithoutMessages(t *testing.T) {
	readers := experiments.Readers{With: runs.Reading{RightRight: 7, RightWrong: 1, WrongRight: 2, WrongWrong: 3}}
	with := "readers of a/trained on val: 2 of 5 wrong answers turned right, 1 of 8 right ones wrong"
	if got := readersLine("a/trained on val", readers); got != with {
		t.Errorf("readersLine = %q, want %q", got, with)
	}
	readers.Without = &runs.Reading{RightWrong: 4, WrongRight: 6}
	want := with + "; without messages: 6 of 6 wrong answers turned right, 4 of 4 right ones wrong"
	if got := readersLine("a/trained on val", readers); got != want {
		t.Errorf("readersLine = %q, want %q", got, want)
	}
}
