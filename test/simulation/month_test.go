package simulation

import (
	"flag"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/collabui/collabui/test/kit/fakepolicy"
)

var month = flag.Bool("month", false, "simulate a month with pre-emptions (a minute)")

// TestAMonthWithPreemptions simulates a run of a month whose workers are preempted several times a day, and whose
// Temporal and S3 fail now and then.
func TestAMonthWithPreemptions(t *testing.T) {
	if !*month {
		t.Skip("it takes a minute: `make simulate` runs it")
	}
	const days, epochs = 30, 370
	r := Run{Spec: fakepolicy.Specification("sim"), Step: time.Hour}
	r.Spec.Epochs, r.Spec.Evaluation.Every = epochs, 10

	want := r.Play(t, 0, nil, false)
	if len(want.Problems) > 0 || want.Took < days*24*time.Hour {
		t.Fatalf("undisturbed it takes %v with the problems %v, want a month and none", want.Took, want.Problems)
	}
	random := rand.New(rand.NewPCG(1, 1))
	var faults []Fault
	for range 5 * days {
		kind := []FaultKind{Kill, KillAfter}[random.IntN(2)]
		faults = append(faults, Fault{At: 1 + random.IntN(want.Points), Kind: kind})
	}
	kinds := kindsWithoutActor()
	for range 2 * days {
		faults = append(faults, Fault{At: 1 + random.IntN(want.Points), Kind: kinds[random.IntN(len(kinds))]})
	}
	slices.SortStableFunc(faults, func(a, b Fault) int { return a.At - b.At })
	got := r.Play(t, 1, faults, false)
	if why := want.violated(got); why != "" {
		t.Errorf("the month: %s, want a sound run", why)
	}
	struck := 0
	for _, n := range got.Struck {
		struck += n
	}
	t.Logf("%d epochs in %v instead of %v, %d faults, of which %d took workers away",
		epochs, got.Took.Round(time.Hour), want.Took.Round(time.Hour), struck, got.Struck[Kill]+got.Struck[KillAfter])
	if struck < len(faults)*9/10 {
		t.Errorf("%d faults struck, want nearly all of %d", struck, len(faults))
	}
}
