package experiment

import (
	"strings"
	"testing"

	"github.com/collabui/collabui/internal/records/experiments"
)

func TestAnArmThatNothingTrainedIsNamed(t *testing.T) {
	for counted, loud := range map[int]bool{0: true, 1: false} {
		got := updatesLine("fbc1", experiments.Updates{Counted: counted, All: 36})
		if strings.Contains(got, "NONE") != loud {
			t.Errorf("with %d of 36 updates it says %q, want a warning: %v", counted, got, loud)
		}
	}
}
