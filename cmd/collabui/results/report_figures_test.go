package results

import (
	"context"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/collabui/collabui/activities"
	"github.com/collabui/collabui/activities/lifecycle"
	"github.com/collabui/collabui/cmd/collabui/app"
	"github.com/collabui/collabui/cmd/collabui/status"
	"github.com/collabui/collabui/envadapters/scripted"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/config"
	"github.com/collabui/collabui/internal/method/chat"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/test/kit/testrun"
)

// strict is a model that refuses every prompt about one goal, and some about another one.
type strict struct {
	chat.Model
	all, some string
}

func (m strict) Complete(ctx context.Context, q chat.Request) (chat.Response, error) {
	if strings.Contains(q.User, m.all) || strings.Contains(q.User, m.some) && q.N == 1 && q.Seed%8 == 0 {
		return chat.Response{}, fault.New(fault.Refused, "model %s refused: the prompt is too long", q.Model)
	}

	return m.Model.Complete(ctx, q)
}

// troubled plays a run whose slot 2 fails, whose slot 4 has a void attempt, and some of whose cells are refused.
func troubled(t *testing.T) *testrun.Run {
	t.Helper()
	s := testrun.Tiny()
	s.FailedShare = 0.9
	r, plan := testrun.LearningWithBase(t, s), testrun.Learning(t, s)
	base := func() (runs.Base, error) { return runs.Base{}, nil }
	if _, _, err := runs.Run(s.Name).Base().Record(t.Context(), plan.Bucket, base); err != nil {
		t.Fatal(err)
	}
	if _, err := plan.Control().PlanRun(t.Context(), lifecycle.RunID{Run: s.Name}); err != nil {
		t.Fatal(err)
	}
	if _, err := plan.Control().PlanEpoch(t.Context(), activities.EpochID{Run: s.Name, Epoch: 1}); err != nil {
		t.Fatal(err)
	}
	slots, _, err := runs.Run(s.Name).Slots(1).Must(t.Context(), plan.Bucket)
	if err != nil {
		t.Fatal(err)
	}
	env, err := r.Suite.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer env.Close(t.Context())
	goal := func(slot int) string {
		tr, err := env.Reset(t.Context(), slots.Slots[slot-1].Task)
		if err != nil {
			t.Fatal(err)
		}

		return tr.Goal
	}
	r.Deps.Chat = strict{r.Deps.Chat, goal(2), goal(5)}
	void := slots.Slots[3].Task
	for step, kind := range map[int]scripted.Misbehaviour{1: scripted.Diverge, 2: scripted.Void} {
		r.Suite.Break(scripted.Fault{Template: void.Template, Seed: void.Seed, Step: step, Kind: kind, Times: 1})
	}
	if _, err := r.Play(t, nil); err != nil {
		t.Fatal(err)
	}

	return r
}

// TestPagesShowTheFiguresOfShow compares the pages of a run with failed slots, void attempts and refused cells with
// what show --json says, and their lists with its counts.
func TestPagesShowTheFiguresOfShow(t *testing.T) {
	t.Parallel()
	r := troubled(t)
	run := runs.Run(r.Spec.Name)
	a := &app.App{Data: t.TempDir()}
	l := libraryOf(a, r.Bucket)
	document := func(path string, out any) {
		t.Helper()
		body, err := l.Document(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(raw, out); err != nil {
			t.Fatal(err)
		}
	}
	var page struct {
		Status any
		Epochs []struct {
			Failed, Pairs int
			Rollouts      runs.Result
		}
	}
	document("run/"+string(run), &page)

	st, err := status.Read(t.Context(), r.Bucket, config.Endpoints{}, string(run))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(st)
	if err != nil {
		t.Fatal(err)
	}
	var shown any
	if err := json.Unmarshal(raw, &shown); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(page.Status, shown) {
		t.Errorf("the page says\n%v\nand show --json\n%v\nwant the same", page.Status, shown)
	}

	var rows []struct {
		State                string
		Void, Refused, Pairs int
	}
	document("rows/"+string(run)+"/1", &rows)
	var failed, solved, void, refused, pairs int
	for _, x := range rows {
		switch x.State {
		case "failed":
			failed++
		case "solved":
			solved++
		}
		void, refused, pairs = void+x.Void, refused+x.Refused, pairs+x.Pairs
	}
	if len(st.LeftOut) != 1 || st.LeftOut[0].Slots != failed || failed == 0 || page.Epochs[0].Failed != failed {
		t.Errorf("the list has %d failed slots, the page %d, and show %+v; want the same, and some",
			failed, page.Epochs[0].Failed, st.LeftOut)
	}
	got := page.Epochs[0].Rollouts
	if got.Successes != solved || got.Refused != refused || refused == 0 || page.Epochs[0].Pairs != pairs {
		t.Errorf("the list has %d solved episodes, %d refused cells and %d pairs, and the page %+v and %d pairs; "+
			"want the same, and refused ones", solved, refused, pairs, got, page.Epochs[0].Pairs)
	}
	if void == 0 {
		t.Error("the list has no void attempt, want one")
	}
}
