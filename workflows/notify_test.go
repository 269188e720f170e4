package workflows_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"go.temporal.io/sdk/testsuite"

	"github.com/collabui/collabui/internal/process/notify"
	"github.com/collabui/collabui/internal/store/notices"
	"github.com/collabui/collabui/test/kit/testrun"
	"github.com/collabui/collabui/workflows"
)

// hook is a webhook that remembers what it took.
type hook struct {
	*httptest.Server
	took   []notices.Notice
	answer func(call int) int // status
	calls  int
}

// receiver registers a webhook as the receiver ops of a run.
func receiver(t *testing.T, r *testrun.Run, answer func(call int) int) *hook {
	t.Helper()
	h := &hook{answer: answer}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		var n notices.Notice
		_ = json.NewDecoder(q.Body).Decode(&n)
		h.calls++
		status := h.answer(h.calls)
		if status == http.StatusOK {
			h.took = append(h.took, n)
		}
		w.WriteHeader(status)
	}))
	t.Cleanup(h.Close)
	all, err := notify.Parse("notify.yaml", []byte("receivers: [{name: ops, webhook: '"+h.URL+"'}]"))
	if err != nil {
		t.Fatal(err)
	}
	r.Deps.Receivers = all
	if err := notices.Receiver("ops").Register(t.Context(), r.Bucket); err != nil {
		t.Fatal(err)
	}

	return h
}

// post writes n notices.
func post(t *testing.T, r *testrun.Run, n int) {
	t.Helper()
	for i := range n {
		x := notices.Notice{ID: fmt.Sprint("n", i), Kind: notices.Ended, Text: fmt.Sprint(i)}
		for range 2 { // whoever writes it twice changes nothing
			if _, err := notices.Append(t.Context(), r.Bucket, x); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// wantInOrder checks that a receiver took so many notices, each once, in their order.
func (h *hook) wantInOrder(t *testing.T, n int) {
	t.Helper()
	for i, x := range h.took {
		if x.Number != i+1 {
			t.Fatalf("the receiver took %v, want the notices in their order", h.took)
		}
	}
	if len(h.took) != n {
		t.Errorf("the receiver took %d notices, want %d", len(h.took), n)
	}
}

func TestAReceiverThatIsAwayForAMinuteIsToldEverythingInOrder(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]func(call int) int{
		"always there": func(int) int { return 200 },
		"away":         func(call int) int { return map[bool]int{true: 503, false: 200}[call < 8] },
		"flaky":        func(call int) int { return map[bool]int{true: 500, false: 200}[call%10 == 0] },
	} {
		r := testrun.New(t, testrun.Tiny())
		h := receiver(t, r, answer)
		post(t, r, 45)
		env := r.Environment()
		began := env.Now()
		env.ExecuteWorkflow(workflows.Notify, notices.Receiver("ops"))
		if err := env.GetWorkflowError(); err != nil {
			t.Fatalf("%s: Notify ended with %v, want no error", name, err)
		}
		h.wantInOrder(t, 45)
		if name == "away" && env.Now().Sub(began) < time.Minute {
			t.Errorf("it was away for %v, want a minute or more", env.Now().Sub(began))
		}
		if told, err := notices.Receiver("ops").Told(t.Context(), r.Bucket); err != nil || told != 45 {
			t.Errorf("%s: it was told up to notice %d, %v; want 45", name, told, err)
		}
	}
}

func TestANewReceiverIsNotToldOfThePast(t *testing.T) {
	t.Parallel()
	r := testrun.New(t, testrun.Tiny())
	post(t, r, 3)
	h := receiver(t, r, func(int) int { return 200 })
	if err := r.Do(workflows.Notify, notices.Receiver("ops")); err != nil || h.calls > 0 {
		t.Errorf("Notify made %d calls, %v; want none", h.calls, err)
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
	wantNotices(t, r, notices.Paused, notices.Stopped)

	ended := testrun.WithBase(t, testrun.Tiny())
	play(t, ended)
	wantNotices(t, ended, notices.Ended)
}

// wantNotices checks the kinds of a store's notices.
func wantNotices(t *testing.T, r *testrun.Run, want ...notices.Kind) {
	t.Helper()
	all, err := notices.Newest(context.Background(), r.Bucket, 100)
	var got []notices.Kind
	for _, n := range all {
		got = append(got, n.Kind)
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("the notices are %+v, %v; want %v", all, err, want)
	}
}
