package workflows_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/testsuite"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/envadapters/mixed"
	"github.com/collabui/collabui/envadapters/scripted"
	"github.com/collabui/collabui/internal/method/retrain"
	"github.com/collabui/collabui/internal/records/lines"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/records/schedules"
	"github.com/collabui/collabui/test/kit/fakepolicy"
	"github.com/collabui/collabui/test/kit/testrun"
	"github.com/collabui/collabui/workflows"
)

// nightly is a schedule of the line mobile on the scripted environment.
func nightly() retrain.Schedule {
	s := retrain.Default()
	s.Name, s.Line, s.Environment = "nightly", "mobile", "webtasks"
	s.When.Every, s.When.CatchUp = "1h", "10m"
	s.Train.Epochs = 1
	s.Drift.Episodes, s.Gate.Episodes = 20, 20

	return s
}

// scheduled returns a finished run whose system line mobile accepts, with a schedule.
func scheduled(t *testing.T, s retrain.Schedule) *testrun.Run {
	t.Helper()
	r, _ := testrun.Finished(t)
	schedule(t, r, s)

	return r
}

// schedule accepts the system of a finished run, and schedules to train it again.
func schedule(t *testing.T, r *testrun.Run, s retrain.Schedule) {
	t.Helper()
	accept(t, r, "small", -1)
	if _, err := schedules.Append(t.Context(), r.Bucket, schedules.Version{Schedule: s, Who: "ann"}); err != nil {
		t.Fatal(err)
	}
}

// accept promotes a system by hand.
func accept(t *testing.T, r *testrun.Run, run string, epoch int) lines.Entry {
	t.Helper()
	system, err := lines.Find(t.Context(), r.Bucket, run, epoch)
	if err != nil {
		t.Fatal(err)
	}
	history, err := lines.Line("mobile").History(t.Context(), r.Bucket, 0)
	if err != nil {
		t.Fatal(err)
	}
	e := lines.Entry{Verb: lines.Promote, System: system, Who: "ann", Why: "the first"}
	e, err = lines.Line("mobile").Append(t.Context(), r.Bucket, len(history), e)
	if err != nil {
		t.Fatal(err)
	}

	return e
}

// fire plays a firing of the schedule at an hour of a day. more may prepare its environment.
func fire(
	t *testing.T, r *testrun.Run, hour int, more func(*testsuite.TestWorkflowEnvironment),
) (schedules.Outcome, error) {
	t.Helper()
	env := r.Environment()
	at := time.Date(2026, 11, 23, hour, 0, 0, 0, time.UTC)
	env.SetStartWorkflowOptions(client.StartWorkflowOptions{
		ID: workflows.RetrainID("nightly") + "-" + at.Format(time.RFC3339), TaskQueue: workflows.QueueControl,
	})
	if more != nil {
		more(env)
	}
	env.ExecuteWorkflow(workflows.Retrain, workflows.RetrainInput{Schedule: "nightly", Version: 1})
	var o schedules.Outcome
	err := env.GetWorkflowError()
	if err == nil {
		err = env.GetWorkflowResult(&o)
	}

	return o, err
}

// learns makes every policy but those of the accepted system act rightly.
func learns(t *testing.T, r *testrun.Run) {
	t.Helper()
	e, err := lines.Line("mobile").Current(t.Context(), r.Bucket)
	if err != nil {
		t.Fatal(err)
	}
	old := e.System.Digests()
	r.Deps.Chat = fakepolicy.Graduate{
		Model: r.Deps.Chat, Learned: func(policy string) bool { return !slices.Contains(old, policy) },
	}
}

// wantOutcome checks how a firing ended.
func wantOutcome(t *testing.T, o schedules.Outcome, err error, verb lines.Verb, news schedules.News, why string) {
	t.Helper()
	if err != nil || o.Verb != string(verb) || o.News != news || !strings.Contains(o.Why, why) {
		t.Errorf("the firing ended with %+v, %v; want %s after %s, because %q", o, err, verb, news, why)
	}
}

func TestAFiringThatFindsNothingNewAsksNoModel(t *testing.T) {
	t.Parallel()
	r := scheduled(t, nightly())
	c := count(r)
	o, err := fire(t, r, 3, nil)
	wantOutcome(t, o, err, schedules.VerbNone, schedules.NewsNone, "made for")
	if c.calls > 0 || c.jobs > 0 || r.Suite.Episodes > 0 {
		t.Errorf("it made %d calls, %d jobs and %d episodes, want none", c.calls, c.jobs, r.Suite.Episodes)
	}
	clean(t, r)
}

func TestNewTasksAreTrainedAndTheBetterSystemIsPromoted(t *testing.T) {
	t.Parallel()
	r := scheduled(t, nightly())
	r.Suite.More = []string{"h", "i"}
	learns(t, r)
	o, err := fire(t, r, 3, nil)
	wantOutcome(t, o, err, lines.Promote, schedules.NewsTasks, "points on 20 episodes of new tasks")
	clean(t, r)

	run := runs.Run("nightly-20261123-030000")
	e, err := lines.Line("mobile").Current(t.Context(), r.Bucket)
	if err != nil || e.System.Run != string(run) || e.System.Epoch != 2 || e.Gate == nil || len(e.Results) != 2 {
		t.Errorf("the line accepts %+v, %v; want epoch 2 of %s with the results of its gate", e, err, run)
	}
	for i, slot := range read(t, r, run.Slots(2)).Slots {
		if isNew := strings.ContainsAny(slot.Task.Template, "hi"); isNew == ((i+1)*7/10 == i*7/10) {
			t.Errorf("slot %d plays %s, want new tasks in 7 of 10 slots", i+1, slot.Task.Template)
		}
	}

	wantNotices(t, r, domain.NoticeEnded, domain.NoticePromoted)

	// Whoever starts the same firing again finds how it ended; the next one finds nothing new.
	again, err := fire(t, r, 3, nil)
	if err != nil || again != o {
		t.Errorf("the firing, played again, ended with %+v, %v; want %+v", again, err, o)
	}
	o, err = fire(t, r, 4, nil)
	wantOutcome(t, o, err, schedules.VerbNone, schedules.NewsNone, "made for")
}

func TestANewEnvironmentBesideTheOldOneIsTrainedWithReplay(t *testing.T) {
	t.Parallel()
	s := nightly()
	s.Environment, s.Environments = "all", map[string]envadapters.Options{"all": {
		Suite: "mixed", Parts: map[string]envadapters.Options{"webtasks": {}, "desk": {Suite: "webtasks"}},
	}}
	r := scheduled(t, s)
	learns(t, r)
	desk := &scripted.Suite{}
	r.Deps.Open = func(o envadapters.Options) (envadapters.Suite, error) {
		return mixed.New(map[string]envadapters.Suite{"webtasks": r.Suite, "desk": desk}), nil
	}
	o, err := fire(t, r, 3, nil)
	wantOutcome(t, o, err, lines.Promote, schedules.NewsTasks, "points on 20 episodes of new tasks")
	clean(t, r)

	run := runs.Run("nightly-20261123-030000")
	for i, slot := range read(t, r, run.Slots(2)).Slots {
		if isNew := strings.HasPrefix(slot.Task.Template, "desk/"); isNew == ((i+1)*7/10 == i*7/10) {
			t.Errorf("slot %d plays %s, want tasks of desk in 7 of 10 slots", i+1, slot.Task.Template)
		}
	}
	for _, g := range read(t, r, run.Gate()).Groups {
		want := map[string]string{retrain.GroupNew: "desk/", retrain.GroupOld: "webtasks/"}[g.Name]
		if len(g.Tasks) != 7 || !strings.HasPrefix(g.Tasks[0].Template, want) {
			t.Errorf("the gate compares %s tasks %+v, want the 7 of %s", g.Name, g.Tasks, want)
		}
	}

	o, err = fire(t, r, 4, nil)
	wantOutcome(t, o, err, schedules.VerbNone, schedules.NewsNone, "made for")
}

func TestARejectedSystemIsNotTrainedAgainUntilSomethingChanges(t *testing.T) {
	t.Parallel()
	r := scheduled(t, nightly())
	r.Suite.More = []string{"h", "i"}
	o, err := fire(t, r, 3, nil)
	wantOutcome(t, o, err, lines.Reject, schedules.NewsTasks, "episodes of new tasks, margin 0.0")
	if e, err := lines.Line("mobile").Current(t.Context(), r.Bucket); err != nil || e.System.Run != "small" {
		t.Errorf("the line accepts %v, %v; want the system of small", e.System, err)
	}

	before := r.Suite.Episodes
	o, err = fire(t, r, 4, nil)
	wantOutcome(t, o, err, schedules.VerbNone, schedules.NewsNone, "nothing has changed since entry 2")
	if r.Suite.Episodes > before {
		t.Errorf("it played %d episodes, want none", r.Suite.Episodes-before)
	}
	r.Suite.More = append(r.Suite.More, "j")
	learns(t, r)
	o, err = fire(t, r, 5, nil)
	wantOutcome(t, o, err, lines.Promote, schedules.NewsTasks, "")
	clean(t, r)
}

func TestAnEnvironmentThatChangedIsCheckedForDrift(t *testing.T) {
	t.Parallel()
	r, _ := testrun.Learned(t)
	schedule(t, r, nightly())
	r.Suite.Edition = "2"
	o, err := fire(t, r, 3, nil)
	wantOutcome(t, o, err, schedules.VerbNone, schedules.NewsCheck, "of 20 tasks of val")
	system, err := lines.Line("mobile").Current(t.Context(), r.Bucket)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := runs.Run(o.Run).Committed(t.Context(), r.Bucket); err != nil || n != system.System.Epoch {
		t.Errorf("run %s has %d epochs, %v; want those that it shares", o.Run, n, err)
	}

	before := r.Suite.Episodes
	for hour := 4; hour <= 5; hour++ { // checked once, it is not checked again until something changes
		o, err = fire(t, r, hour, nil)
		wantOutcome(t, o, err, schedules.VerbNone, schedules.NewsNone, "firing 20261123-030000 checked")
	}
	if r.Suite.Episodes > before {
		t.Errorf("%d episodes were played for what was checked before, want none", r.Suite.Episodes-before)
	}

	// Longer tasks, which the accepted system fails.
	val, _, err := runs.Run("small").Epoch(system.System.Epoch).Must(t.Context(), r.Bucket)
	if err != nil || val.Val.Low <= 0 {
		t.Fatalf("the accepted system reached %+v, %v; want a rate above 0", val.Val, err)
	}
	r.Suite.Edition, r.Suite.Length = "3", 6
	learns(t, r)
	o, err = fire(t, r, 6, nil)
	wantOutcome(t, o, err, lines.Promote, schedules.NewsCheck, "of new tasks")
	clean(t, r)
}

func TestAPersonApprovesInTime(t *testing.T) {
	t.Parallel()
	s := nightly()
	s.Approval.Within = "24h"
	for name, x := range map[string]struct {
		update string
		verb   lines.Verb
		why    string
	}{
		"approved": {workflows.UpdateApprove, lines.Promote, "looks right ("},
		"rejected": {workflows.UpdateReject, lines.Reject, "looks right ("},
		"nobody":   {"", lines.Reject, "nobody approved it within 24h"},
	} {
		r := scheduled(t, s)
		r.Suite.More = []string{"h", "i"}
		learns(t, r)
		var early error
		o, err := fire(t, r, 3, func(env *testsuite.TestWorkflowEnvironment) {
			ann := workflows.Command{Who: "ann", Why: "looks right"}
			env.RegisterDelayedCallback(func() {
				env.UpdateWorkflow(workflows.UpdateApprove, "", &testsuite.TestUpdateCallback{
					OnAccept: func() {}, OnComplete: func(any, error) {}, OnReject: func(err error) { early = err },
				}, ann)
			}, 0)
			if x.update != "" {
				env.RegisterDelayedCallback(func() { send(t, env, x.update, ann) }, 20*time.Hour)
			}
		})
		wantOutcome(t, o, err, x.verb, schedules.NewsTasks, x.why)
		if early == nil || !strings.Contains(early.Error(), "nothing waits for approval") {
			t.Errorf("%s: an early approval is answered by %v, want it refused", name, early)
		}
	}
}

func TestASystemIsRejectedIfSomebodyChangedTheLineMeanwhile(t *testing.T) {
	t.Parallel()
	r := scheduled(t, nightly())
	r.Suite.More = []string{"h", "i"}
	learns(t, r)
	o, err := fire(t, r, 3, func(env *testsuite.TestWorkflowEnvironment) {
		atFirst(env, "Judge", func() { accept(t, r, "small", 2) })
	})
	wantOutcome(t, o, err, lines.Reject, schedules.NewsTasks, "ann has changed the line since")
	if e, err := lines.Line("mobile").Current(t.Context(), r.Bucket); err != nil || e.Number != 2 || o.Entry != 3 {
		t.Errorf("the line accepts entry %d, %v, and the rejection is entry %d; want 2 and 3", e.Number, err, o.Entry)
	}
}

func TestPeopleAreNotifiedOnceThatAFiringWaits(t *testing.T) {
	t.Parallel()
	r := scheduled(t, nightly())
	asked := 0
	r.Deps.Missed = func(context.Context, string) (int, error) {
		if asked++; asked < 200 {
			return 0, errors.New("nobody answers")
		}

		return 0, nil
	}
	o, err := fire(t, r, 3, nil)
	wantOutcome(t, o, err, schedules.VerbNone, schedules.NewsNone, "made for")
	wantNotices(t, r, domain.NoticePaused)
	if n := r.Notices()[0]; !strings.Contains(n.Text, "nobody answers") || n.Schedule != "nightly" {
		t.Errorf("the notice is %+v, want the schedule and the reason", n)
	}
}

func TestPeopleAreNotifiedOnceOfFiringsThatWereMissed(t *testing.T) {
	t.Parallel()
	r := scheduled(t, nightly())
	missed := 0
	r.Deps.Missed = func(context.Context, string) (int, error) { return missed, nil }
	for hour, n := range []int{0, 3, 3, 5} {
		missed = n
		o, err := fire(t, r, hour, nil)
		wantOutcome(t, o, err, schedules.VerbNone, schedules.NewsNone, "made for")
	}
	wantNotices(t, r, domain.NoticeMissed, domain.NoticeMissed)
	all := r.Notices()
	if !strings.HasPrefix(all[0].Text, "3 firings") || !strings.HasPrefix(all[1].Text, "2 firings") {
		t.Errorf("the notices are %+v, want 3 missed firings, and then 2 more", all)
	}
}
