package workflows_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/testsuite"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/observe/notify"
	"github.com/collabui/collabui/test/kit/testrun"
	"github.com/collabui/collabui/workflows"
)

func TestAWebhookThatIsAwayTakesANoticeLater(t *testing.T) {
	t.Parallel()
	var took []domain.Notice
	calls := 0
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if calls++; calls < 8 {
			w.WriteHeader(http.StatusServiceUnavailable)

			return
		}
		var n domain.Notice
		_ = json.NewDecoder(q.Body).Decode(&n)
		took = append(took, n)
	}))
	t.Cleanup(hook.Close)
	r := testrun.New(t, testrun.Tiny())
	var err error
	if r.Deps.Webhook, err = notify.New(hook.URL, ""); err != nil {
		t.Fatal(err)
	}
	env := r.Environment()
	began := env.Now()
	want := domain.Notice{ID: "small/ended/1", Kind: domain.NoticeEnded, Run: "small", Text: "it has ended"}
	env.ExecuteWorkflow(workflows.Notify, want)
	if err := env.GetWorkflowError(); err != nil {
		t.Fatalf("Notify ended with %v, want no error", err)
	}
	if !slices.Equal(took, []domain.Notice{want}) {
		t.Errorf("the webhook took %+v, want %+v once", took, want)
	}
	if away := env.Now().Sub(began); away < time.Minute {
		t.Errorf("the webhook was away for %v, want a minute or more", away)
	}
}

func TestPeopleAreNotifiedOfWhatBecomesOfARun(t *testing.T) {
	t.Parallel()
	s := testrun.Tiny()
	s.Environment = "nowhere"
	r := testrun.New(t, s)
	_, err := r.Play(t, func(env *testsuite.TestWorkflowEnvironment) {
		env.RegisterDelayedCallback(func() { // it is held, because there is no such environment
			send(t, env, workflows.UpdateStop, workflows.Command{Who: "ann", Why: "never mind"})
		}, time.Hour)
	})
	if err == nil {
		t.Error("the run ended without an error, want it stopped")
	}
	wantNotices(t, r, domain.NoticePaused, domain.NoticeStopped)

	ended := testrun.WithBase(t, testrun.Tiny())
	play(t, ended)
	wantNotices(t, ended, domain.NoticeEnded)
}

// TestTheLastNoticeIsGivenUp: a run whose end cannot be posted ends nevertheless, but not while Temporal still repeats
// the notice.
func TestTheLastNoticeIsGivenUp(t *testing.T) {
	t.Parallel()
	r := testrun.WithBase(t, testrun.Tiny())
	r.Deps.Unposted = errors.New("nobody takes it")
	var env *testsuite.TestWorkflowEnvironment
	var posting time.Time
	end, err := r.Play(t, func(next *testsuite.TestWorkflowEnvironment) {
		env = next
		env.SetOnActivityStartedListener(func(info *activity.Info, _ context.Context, _ converter.EncodedValues) {
			if info.ActivityType.Name == "Post" && posting.IsZero() {
				posting = env.Now()
			}
		})
	})
	if err != nil || end.FinalDigest == "" || len(r.Notices()) > 0 {
		t.Errorf("the run ended with %+v, %v and the notices %v; want its digest and no notice", end, err, r.Notices())
	}
	if tried := env.Now().Sub(posting); posting.IsZero() || tried < 10*time.Second || tried > 3*time.Minute {
		t.Errorf("the notice was tried for %v, want about a minute", tried)
	}
}

// wantNotices checks the kinds of a run's notices.
func wantNotices(t *testing.T, r *testrun.Run, want ...domain.NoticeKind) {
	t.Helper()
	var got []domain.NoticeKind
	for _, n := range r.Notices() {
		got = append(got, n.Kind)
	}
	if !slices.Equal(got, want) {
		t.Errorf("the notices are %+v, want %v", r.Notices(), want)
	}
}
