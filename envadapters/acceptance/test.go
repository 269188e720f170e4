package acceptance

import (
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
)

// Seeds are the seeds that Test plays every task with.
var Seeds = []uint64{7, 20260101}

// Test runs all checks on up to perSplit templates of every split, evenly drawn; 0 is all. It gives the reports, so that an adapter's test can ask for more.
func Test(t *testing.T, s envadapters.Suite, perSplit int) []Report {
	t.Helper()
	for _, p := range Suite(t.Context(), s) {
		t.Error(p)
	}
	var all []Report
	for _, split := range s.Splits() {
		ts, err := s.Templates(split)
		if err != nil {
			t.Fatal(err)
		}
		every := 1
		if perSplit > 0 {
			every = (len(ts) + perSplit - 1) / perSplit
		}
		for i := 0; i < len(ts); i += every {
			for _, seed := range Seeds {
				r, err := Task(t.Context(), s, domain.Task{Suite: s.Name(), Template: ts[i].Name, Split: split, Seed: seed, MaxSteps: ts[i].MaxSteps})
				if err != nil {
					t.Errorf("%v", err)
				}
				for _, p := range r.Problems {
					t.Errorf("%s, split %s, seed %d: %s", r.Template, split, seed, p)
				}
				all = append(all, r)
			}
			if i == 0 && split == s.Splits()[0] {
				problems, err := Faulty(t.Context(), s, domain.Task{Suite: s.Name(), Template: ts[0].Name, Split: split, Seed: 1, MaxSteps: ts[0].MaxSteps})
				if err != nil {
					t.Error(err)
				}
				for _, p := range problems {
					t.Error(p)
				}
			}
		}
	}
	if len(all) == 0 {
		t.Error("no task was checked")
	}
	return all
}
