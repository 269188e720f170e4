package workflows_test

import (
	"context"
	"strings"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/chat"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/test/kit/testrun"
)

// sloppy is a model that says tap for click.
type sloppy struct{ chat.Model }

func (m sloppy) Complete(ctx context.Context, q chat.Request) (chat.Response, error) {
	r, err := m.Model.Complete(ctx, q)
	if q.N == 1 {
		for i, text := range r.Texts {
			r.Texts[i] = strings.Replace(text, `"action_type":"click"`, `"action_type":"tap"`, 1)
		}
	}

	return r, err
}

func TestResultsCountTheAnswersThatWereRepaired(t *testing.T) {
	t.Parallel()
	s := testrun.Small()
	s.Epochs = 1
	r := testrun.WithBase(t, s)
	r.Deps.Chat = sloppy{r.Deps.Chat}
	end := play(t, r)

	run := runs.Run(s.Name)
	want := 0
	for slot := 1; slot <= s.Slots; slot++ {
		for _, ref := range attempts(t, r, slot)[0].Steps {
			want += read(t, r, runs.Object[runs.Step]{Key: ref.Key}).Decision.Repaired()
		}
	}
	if got := read(t, r, run.Epoch(1)).Rollouts.Repaired; got != want || want == 0 {
		t.Errorf("the epoch counts %d repaired answers, want %d, and some", got, want)
	}

	found := false
	for _, result := range end.Results {
		if result.System != rules.TrainedName(s.Agents) || result.Split != domain.SplitTestSeeds {
			continue
		}
		found = true
		id := rules.EvalID(rules.EpochFolder(end.Best), result.System, result.Split)
		want := 0
		for n := range result.Episodes {
			for _, step := range read(t, r, run.EvalEpisode(id, n+1)).Steps {
				for _, c := range step.Cells {
					want += strings.Count(c.Text, `"action_type":"tap"`)
				}
			}
		}
		if result.Repaired != want || want == 0 {
			t.Errorf("%s counts %d repaired answers, want %d, and some", id, result.Repaired, want)
		}
	}
	if !found {
		t.Errorf("the results %+v lack the trained system's, want it", end.Results)
	}
}
