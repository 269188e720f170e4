package run

import (
	"testing"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/records/runs"
)

func TestALabelIsReadWholeOrRefused(t *testing.T) {
	got, err := relabels([]string{"17/3/0/2=0", "18/1/0/0=-1"})
	if want := (runs.Relabel{Slot: 17, Step: 3, Round: 2}); err != nil || len(got) != 2 || got[0] != want {
		t.Errorf("relabels = %+v, %v; want %+v first", got, err, want)
	}
	for _, arg := range []string{"17/3/0/2=0,18/1/0/0=0", "17/3/0/2=0.5", "17/3/0/2=2", "17/3/0=1", ""} {
		if got, err := relabels([]string{arg}); fault.KindOf(err) != fault.Invalid {
			t.Errorf("relabels(%q) = %+v, %v; want it refused", arg, got, err)
		}
	}
}
