package workflows_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.temporal.io/sdk/testsuite"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters/scripted"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/chat"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/test/kit/testrun"
	"github.com/collabui/collabui/workflows"
)

// refusing is a model that refuses some prompts.
type refusing struct {
	chat.Model
	refuses func(chat.Request) bool
}

func (m refusing) Complete(ctx context.Context, q chat.Request) (chat.Response, error) {
	if m.refuses(q) {
		return chat.Response{}, fault.New(fault.Refused, "model %s refused: the prompt is too long", q.Model)
	}

	return m.Model.Complete(ctx, q)
}

// words returns the goal of a planned slot as prompts have it.
func words(t *testing.T, r *testrun.Run, task domain.Task) string {
	t.Helper()
	env, err := r.Suite.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	tr, err := env.Reset(t.Context(), task)
	if err != nil {
		t.Fatal(err)
	}

	return tr.Goal
}

// TestARefusedPromptIsACellThatSaysNothing refuses the second agent's prompts of one slot.
func TestARefusedPromptIsACellThatSaysNothing(t *testing.T) {
	t.Parallel()
	s := testrun.Small()
	s.Epochs = 1
	task := planned(t, s, 4)
	r := testrun.WithBase(t, s)
	goal, n := words(t, r, task), 0
	r.Deps.Chat = refusing{r.Deps.Chat, func(q chat.Request) bool {
		// Which agent asks follows from the seed alone, so some cells of a step are refused and others are not.
		return strings.Contains(q.User, goal) && q.N == 1 && q.Seed%8 == 0
	}}
	end := play(t, r)

	run := runs.Run(s.Name)
	credits := read(t, r, run.Credits(1, 4))
	for i, ref := range attempts(t, r, 4)[0].Steps {
		step := read(t, r, runs.Object[runs.Step]{Key: ref.Key})
		for k, c := range step.Decision.Cells {
			if c.Refused == "" {
				continue
			}
			n++
			if c.Action != nil || c.Text != "" || credits.Steps[i].Labels[k] != domain.Uncertain {
				t.Errorf("the refused cell %+v has the label %v, want no answer and ∅", c, credits.Steps[i].Labels[k])
			}
		}
	}
	if n == 0 {
		t.Fatal("no cell was refused, want some")
	}
	if got := read(t, r, run.Epoch(1)).Rollouts.Refused; got != n || end.FinalDigest == "" {
		t.Errorf("the epoch counts %d refused cells, want %d", got, n)
	}
}

// TestASlotWhoseEveryPromptIsRefusedHasFailed shows that a run neither waits nor sends the same again.
func TestASlotWhoseEveryPromptIsRefusedHasFailed(t *testing.T) {
	t.Parallel()
	s := testrun.Small()
	s.Epochs = 1
	task := planned(t, s, 4)
	r := testrun.WithBase(t, s)
	goal, asked := words(t, r, task), 0
	r.Deps.Chat = refusing{r.Deps.Chat, func(q chat.Request) bool {
		refused := strings.Contains(q.User, goal)
		if refused {
			asked++
		}

		return refused
	}}
	play(t, r)

	got := attempts(t, r, 4)
	if len(got) != 1 || !strings.Contains(got[0].Failed, "step 1") || !strings.Contains(got[0].Failed, "too long") {
		t.Errorf("the attempts = %+v, want one that failed at step 1 because the prompt is too long", got)
	}
	if want := s.Agents * s.Rounds; asked != want {
		t.Errorf("the model was asked %d times, want each of %d cells once", asked, want)
	}
}

// TestMoreRefusalsThanTheShareAskAPerson refuses a third of all prompts.
func TestMoreRefusalsThanTheShareAskAPerson(t *testing.T) {
	t.Parallel()
	s := testrun.Tiny()
	r := testrun.WithBase(t, s)
	r.Deps.Chat = refusing{r.Deps.Chat, func(q chat.Request) bool { return q.N == 1 && q.Seed%3 == 0 }}
	run := runs.Run(s.Name)
	var reasons []string
	_, err := r.Play(t, func(env *testsuite.TestWorkflowEnvironment) {
		acceptHourly(t, env, run, r, func(st workflows.Status) { reasons = append(reasons, st.Reason) })
	})
	if err != nil {
		t.Fatal(err)
	}
	clean(t, r)
	all := strings.Join(reasons, "\n")
	for _, want := range []string{"models refused", "Examples are in slot", "tasks of val cannot be played"} {
		if !strings.Contains(all, want) {
			t.Errorf("a person was asked because of %q, want that to contain %q", all, want)
		}
	}
}

// acceptHourly is a person who accepts everything that a run is held for, after they have looked at it.
func acceptHourly(
	t *testing.T, env *testsuite.TestWorkflowEnvironment, run runs.Run, r *testrun.Run, look func(workflows.Status),
) {
	accept := func() (runs.Decision, error) {
		return runs.Decision{Who: "test", Why: "it is a test"}, nil
	}
	for n := range 5 {
		env.RegisterDelayedCallback(func() {
			st := status(t, env)
			if !st.Held {
				return
			}
			look(st)
			if _, _, err := run.Accepted(st.Epoch).Record(context.Background(), r.Bucket, accept); err != nil {
				t.Error(err)
			}
			send(t, env, workflows.UpdateResume, workflows.Command{Who: "test", Why: "accepted"})
		}, time.Duration(n+1)*time.Hour)
	}
}

// TestATaskOfValThatIsAtFaultIsMissing shows that a run goes on without it, up to failed_share.
func TestATaskOfValThatIsAtFaultIsMissing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		share float64
		held  bool
	}{"within the share": {0.5, false}, "above the share": {0.01, true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := testrun.Tiny()
			s.Evaluation.Val, s.FailedShare = 8, c.share
			r := testrun.WithBase(t, s)
			r.Suite.Break(scripted.Fault{
				Split: domain.SplitVal, Template: "a", Step: 0, Kind: scripted.Invalid, Times: 1 << 30,
			})
			run := runs.Run(s.Name)
			asked := 0
			_, err := r.Play(t, func(env *testsuite.TestWorkflowEnvironment) {
				acceptHourly(t, env, run, r, func(st workflows.Status) {
					asked++
					wantHeld(t, st, "tasks of val cannot be played", "--accept-failed")
				})
			})
			if err != nil {
				t.Fatal(err)
			}
			clean(t, r)
			if (asked > 0) != c.held {
				t.Errorf("a person was asked %d times, want that to happen: %v", asked, c.held)
			}
			if v := read(t, r, run.Epoch(1)).Val; v == nil || v.Missing == 0 || v.Episodes+v.Missing != 8 {
				t.Errorf("the result on val = %+v, want some of 8 tasks missing", v)
			}
		})
	}
}

// TestACriticOfNoUseIsNoticedWhileEpisodesAreLabelled lets a critic answer with a word.
func TestACriticOfNoUseIsNoticedWhileEpisodesAreLabelled(t *testing.T) {
	t.Parallel()
	s := judged()
	s.Slots = 12
	r := testrun.WithBase(t, s)
	var asked atomic.Int32
	r.Deps.Endpoint = func(spec.Model) (chat.Model, error) { return wordy{&asked}, nil }
	run, first := runs.Run(s.Name), int32(0)
	_, err := r.Play(t, func(env *testsuite.TestWorkflowEnvironment) {
		acceptHourly(t, env, run, r, func(st workflows.Status) {
			if first == 0 {
				first = asked.Load()
				wantHeld(t, st, "models.judge is of no use as the critic", "it holds no JSON object with grades",
					"collabui resume "+s.Name+" --accept-failed")
			}
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	// Each step takes two calls, and those of several episodes are in flight.
	if all := asked.Load(); first == 0 || first >= all/2 {
		t.Errorf("a person was asked after %d calls of %d, want after less than a half", first, all)
	}
}

// wordy is a model that answers with a word, and counts its calls.
type wordy struct{ calls *atomic.Int32 }

func (m wordy) Complete(context.Context, chat.Request) (chat.Response, error) {
	m.calls.Add(1)

	return chat.Response{Texts: []string{"yes"}}, nil
}
