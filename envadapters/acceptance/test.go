package acceptance

import (
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
)

// Seeds are the seeds with which Test plays every task.
var Seeds = []uint64{7, 20260101}

// Test runs all checks on up to perSplit templates of every split, spread evenly, or on all templates if perSplit is 0.
// It returns the reports, so that the test of an adapter can make further demands.
func Test(t *testing.T, suite envadapters.Suite, perSplit int) []Report {
	t.Helper()
	report(t, Suite(t.Context(), suite), "suite")

	var all []Report
	for i, split := range suite.Splits() {
		ts, err := suite.Templates(split)
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 && len(ts) > 0 {
			found, err := Faulty(t.Context(), suite, taskOf(suite, split, ts[0], 1))
			if err != nil {
				t.Error(err)
			}
			report(t, found, "faulty")
		}
		all = append(all, testSplit(t, suite, split, ts, perSplit)...)
	}
	if len(all) == 0 {
		t.Error("no task was checked, want at least one")
	}

	return all
}

func testSplit(t *testing.T, suite envadapters.Suite, split string, ts []envadapters.Template, perSplit int) []Report {
	t.Helper()
	every := 1
	if perSplit > 0 {
		every = (len(ts) + perSplit - 1) / perSplit
	}

	var all []Report
	for i := 0; i < len(ts); i += every {
		for _, seed := range Seeds {
			task := taskOf(suite, split, ts[i], seed)
			r, err := Task(t.Context(), suite, task)
			if err != nil {
				t.Error(err)
			}
			report(t, r.Problems, "%s, split %s, seed %d", task.Template, split, seed)
			all = append(all, r)
		}
	}

	return all
}

func taskOf(suite envadapters.Suite, split string, template envadapters.Template, seed uint64) domain.Task {
	return domain.Task{
		Suite:    suite.Name(),
		Template: template.Name,
		Split:    split,
		Seed:     seed,
		MaxSteps: template.MaxSteps,
	}
}

// report fails the test once per problem.
func report(t *testing.T, problems []string, where string, args ...any) {
	t.Helper()
	for _, p := range problems {
		t.Errorf(where+": got %s, want no problem", append(args, p)...)
	}
}
