package experiment

import (
	"strings"
	"testing"

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
