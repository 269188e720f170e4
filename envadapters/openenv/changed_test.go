package openenv

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/envadapters/scripted"
	"github.com/collabui/collabui/fault"
)

// TestAServerThatOffersSomethingElseIsAskedAgain replaces a server by one of another version at the same address.
func TestAServerThatOffersSomethingElseIsAskedAgain(t *testing.T) {
	t.Parallel()
	handler := func(edition string) *http.Handler {
		h, err := Handler(&scripted.Suite{Length: 3, Edition: edition})
		if err != nil {
			t.Fatal(err)
		}

		return &h
	}
	var now atomic.Pointer[http.Handler]
	now.Store(handler("1"))
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		(*now.Load()).ServeHTTP(w, r)
	}))
	t.Cleanup(srv.Close)
	s, err := New(envadapters.Options{Servers: []string{"ws" + strings.TrimPrefix(srv.URL, "http") + "/ws"}})
	if err != nil {
		t.Fatal(err)
	}
	opened(t, s).Close(t.Context())

	now.Store(handler("2"))
	if _, err := s.Open(t.Context()); fault.KindOf(err) != fault.Transient || !strings.Contains(err.Error(), `"2"`) {
		t.Errorf("Open = %v, want a transient fault that names version 2", err)
	}
	opened(t, s).Close(t.Context())
	if v, err := s.Version(t.Context()); err != nil || v != "2" {
		t.Errorf("Version = %q, %v; want 2", v, err)
	}
}

// TestABusyServerIsWaitedForBesideADeadOne opens a second environment while the only place that works is taken.
func TestABusyServerIsWaitedForBesideADeadOne(t *testing.T) {
	t.Parallel()
	_, address := serve(t, &scripted.Suite{Length: 3})
	s, err := New(envadapters.Options{Servers: []string{"ws://127.0.0.1:9/ws", address}})
	if err != nil {
		t.Fatal(err)
	}
	first := opened(t, s)
	got := make(chan error, 1)
	go func() {
		e, err := s.Open(t.Context())
		if err == nil {
			e.Close(context.Background())
		}
		got <- err
	}()
	select {
	case err := <-got:
		t.Fatalf("Open ended with %v while the place was taken, want it to wait", err)
	case <-time.After(500 * time.Millisecond):
	}
	first.Close(t.Context())
	if err := <-got; err != nil {
		t.Errorf("Open = %v when the place was free again, want an environment", err)
	}
}

// counted is a suite of recorded tasks.
type counted struct{ *scripted.Suite }

func (counted) Protocol() string { return "test" }

// TestARecordedTaskCountsActionsOfTheOtherFamily takes as many of them as the task has steps.
func TestARecordedTaskCountsActionsOfTheOtherFamily(t *testing.T) {
	t.Parallel()
	for _, suite := range []envadapters.Suite{&scripted.Suite{Length: 3}, counted{&scripted.Suite{Length: 3}}} {
		_, address := serve(t, suite)
		s, err := New(envadapters.Options{Servers: []string{address}})
		if err != nil {
			t.Fatal(err)
		}
		e := opened(t, s)
		task := domain.Task{Template: "a", Split: domain.SplitTrain, MaxSteps: 2}
		if _, err := e.Reset(t.Context(), task); err != nil {
			t.Fatal(err)
		}
		web := domain.Action{Family: domain.FamilyWeb, Type: domain.ActionSelect, Element: "1", Option: "x"}
		for n := 1; n <= 2; n++ {
			tr, err := e.Step(t.Context(), web)
			if err != nil || tr.Invalid == "" || tr.Truncated != (n == 2) {
				t.Fatalf("step %d = %+v, %v; want it invalid, and the budget spent by the second", n, tr, err)
			}
		}
		_, isRecorded := suite.(envadapters.Recorded)
		if scored := e.last.Score != nil; scored != isRecorded {
			t.Errorf("the server's score arrived: %v, want %v", scored, isRecorded)
		}
	}
}
