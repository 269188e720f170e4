package workflows_test

import (
	"testing"

	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/test/kit/testrun"
)

// TestAResultHasTheCostOfItsEpisodes also checks that the record of an episode has a matrix for every step.
func TestAResultHasTheCostOfItsEpisodes(t *testing.T) {
	t.Parallel()
	r, end := testrun.Finished(t)
	for _, result := range end.Results {
		if result.System != rules.TrainedName(4) {
			continue
		}
		id := rules.EvalID(rules.EpochFolder(end.Best), result.System, result.Split)
		var want runs.Cost
		for n := range result.Episodes {
			ep := read(t, r, runs.Run(r.Spec.Name).EvalEpisode(id, n+1))
			if len(ep.Steps) != ep.Outcome.Steps {
				t.Errorf("%s, episode %d records %d decisions, want %d", id, n+1, len(ep.Steps), ep.Outcome.Steps)
			}
			want = want.Plus(ep.Cost())
		}
		if result.Cost != want || want.Calls == 0 || want.Prompt == 0 || want.Answer == 0 {
			t.Errorf("%s costs %+v, want that of its episodes, which is not nothing: %+v", id, result.Cost, want)
		}
	}
}
