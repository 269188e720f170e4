package status

import (
	"strings"
	"testing"

	"github.com/collabui/collabui/cmd/collabui/app"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/workflows"
)

func TestARunWhoseEveryEpochTrainedNothingHasAWarning(t *testing.T) {
	for name, x := range map[string]struct {
		pairs []int // by epoch
		ended bool
		want  string
	}{
		"no pairs":           {[]int{0, 0}, true, "no epoch trained anything: none of 2 made a row to learn from"},
		"pairs of one epoch": {[]int{0, 7}, true, ""},
		"it has not ended":   {[]int{0, 0}, false, ""},
		"stage 1 only":       {nil, true, ""},
	} {
		b, run := &store.Memory{}, runs.Run("r")
		s := spec.Default()
		s.Name = "r"
		record(t, b, run.Spec(), s)
		for n, pairs := range x.pairs {
			record(t, b, run.Epoch(n+1), runs.Epoch{Pairs: pairs})
		}
		if x.ended {
			record(t, b, run.End(), runs.End{FinalDigest: "d"})
		}

		st, err := ReadStored(t.Context(), b, "r")
		if err != nil {
			t.Fatal(err)
		}
		var shown strings.Builder
		st.text(&shown)
		if got := st.Warning; !strings.Contains(got, x.want) || (got == "") != (x.want == "") {
			t.Errorf("%s: the warning is %q, want %q", name, got, x.want)
		}
		if got := strings.Contains(shown.String(), "warning: "); got != (x.want != "") {
			t.Errorf("%s: show prints %q, want a warning: %v", name, shown.String(), x.want != "")
		}
	}
}

func TestARunWithoutMoreEpochsIsInItsLastEvaluation(t *testing.T) {
	for committed, want := range map[int]string{1: workflows.StageEpoch, 2: workflows.StageEvaluation} {
		b, run := &store.Memory{}, runs.Run("r")
		s := spec.Default()
		s.Name = "r"
		s.Epochs = 2
		record(t, b, run.Spec(), s)
		record(t, b, run.Base(), runs.Base{})
		for n := range committed {
			record(t, b, run.Epoch(n+1), runs.Epoch{})
		}
		if st, err := ReadStored(t.Context(), b, "r"); err != nil || st.Stage != want {
			t.Errorf("after %d of 2 epochs the stage is %q, %v; want %q", committed, st.Stage, err, want)
		}
	}
}

func TestAFinishedRunEndsWithWhatToDoNext(t *testing.T) {
	st := Report{
		Name: "r", Status: stateFinished, Epoch: 3, Epochs: 3, View: "http://v/#/run/r",
		next: (&app.App{Data: "d"}).Command,
	}
	var shown strings.Builder
	st.text(&shown)
	_, last, _ := strings.Cut(shown.String(), "\nnext:\n")
	for _, want := range []string{
		"http://v/#/run/r\n", " show r 3/1 --data d\n", " fork r --epoch 3 --name r-2 --set epochs=4 --data d\n",
	} {
		if !strings.Contains(last, want) {
			t.Errorf("after next: it prints %q, want %q in it", last, want)
		}
	}

	st.Status = stateRunning
	shown.Reset()
	if st.text(&shown); strings.Contains(shown.String(), "next:") {
		t.Errorf("of a run that has not finished it prints %q, want no advice", shown.String())
	}
}

// record records an object.
func record[T any](t *testing.T, b store.Bucket, o runs.Object[T], x T) {
	t.Helper()
	if _, _, err := o.Record(t.Context(), b, func() (T, error) { return x, nil }); err != nil {
		t.Fatal(err)
	}
}
