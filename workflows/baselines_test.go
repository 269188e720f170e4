package workflows_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/experiment"
	"github.com/collabui/collabui/internal/method/chat"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/test/kit/testrun"
	"github.com/collabui/collabui/workers/catalog"
)

// gaveUp is a model that always says that the goal is reached, in every form in which it may be asked, but not quite in
// the words that are asked for.
type gaveUp struct {
	mu    sync.Mutex
	asked map[string]int
}

func (d *gaveUp) Complete(_ context.Context, r chat.Request) (chat.Response, error) {
	about := "act"
	if strings.Contains(r.User, "The agent said:") {
		about = "summary"
	}
	d.mu.Lock()
	d.asked[about]++
	d.mu.Unlock()

	return chat.Response{Texts: []string{"ELEMENT: none\nACTION: TERMINATE\nVALUE: None\nAction: " +
		`{"action_type":"status","goal_status":"Completed"}`}}, nil
}

func TestAgentsOfTheLiteraturePlayTheSameEpisodes(t *testing.T) {
	t.Parallel()
	r := testrun.New(t, testrun.Small())
	model := &gaveUp{asked: map[string]int{}}
	r.Deps.Endpoint = func(spec.Model) (chat.Model, error) { return model, nil }
	x := compared()
	guide := spec.DefaultModel()
	guide.BaseURL, guide.Model = "http://127.0.0.1:1/v1", "guide"
	x.Spec.Models = map[spec.Role]spec.Model{"guide": guide}
	x.Arms, x.Spec.Epochs = x.Arms[:1], 0
	x.Contrasts = nil
	for _, kind := range []string{"guide-plain", "guide-t3a", "guide-seeact", "guide-infigui", "base-plain"} {
		x.Contrasts = append(x.Contrasts, experiment.Contrast{
			Of: "full/expert", Minus: "full/" + kind, Split: domain.SplitTestSeeds,
		})
	}
	if err := x.Validate(catalog.All{}); err != nil {
		t.Fatal(err)
	}
	result, err := conduct(t, r, x)
	if err != nil {
		t.Fatal(err)
	}
	clean(t, r)

	for _, row := range result.Rows[:4] {
		if row.OfRate != 100 || row.MinusRate != 0 || len(row.Seeds) != x.Seeds {
			t.Errorf("%s is %v − %v over %d seeds, want an expert that is always right, and a model that never is",
				row.Contrast, row.OfRate, row.MinusRate, len(row.Seeds))
		}
	}
	// Every episode runs out of its 6 steps: 6 questions, or 12 of SeeAct; T3A summarises each but the last.
	const episodes, steps = 8, 6
	repaired := map[string]int{ // SeeAct has a form of its own
		"guide-plain": episodes * steps, "guide-t3a": episodes * steps, "guide-infigui": episodes * steps,
	}
	for kind, calls := range map[string]int{
		"guide-plain": steps, "guide-t3a": 2*steps - 1, "guide-seeact": 2 * steps, "guide-infigui": steps,
	} {
		got := result.Systems[0]["full/"+kind+" on test-seeds"]
		if got.Cost.Calls != episodes*calls || !strings.HasPrefix(got.Decoding, "model guide, n=1 m=1") {
			t.Errorf("the result of %s is %+v, want %d calls, and how it decodes", kind, got, episodes*calls)
		}
		if want := repaired[kind]; got.Repaired != want {
			t.Errorf("the result of %s counts %d repaired answers, want %d", kind, got.Repaired, want)
		}
	}
	summaries, others := x.Seeds*episodes*(steps-1), x.Seeds*episodes*5*steps
	if model.asked["summary"] != summaries || model.asked["act"] != others {
		t.Errorf("the model was asked %v, want %d summaries and %d others", model.asked, summaries, others)
	}
}
