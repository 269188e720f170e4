package infer_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/policy/infer"
	"github.com/collabui/collabui/internal/records/lines"
	"github.com/collabui/collabui/test/kit/testrun"
)

func TestAServerFollowsItsLineWithoutAFailedRequest(t *testing.T) {
	t.Parallel()
	r, end := testrun.Learned(t)
	const mobile = lines.Line("mobile")
	accept := func(after, epoch int) {
		t.Helper()
		s, err := lines.Find(t.Context(), r.Bucket, "small", epoch)
		if err != nil {
			t.Fatal(err)
		}
		e := lines.Entry{Verb: lines.Promote, System: s, Who: "ann"}
		if _, err := mobile.Append(t.Context(), r.Bucket, after, e); err != nil {
			t.Fatal(err)
		}
	}
	accept(0, 0)
	sys, err := infer.OfLine(t.Context(), r.Bucket, "mobile")
	if err != nil {
		t.Fatal(err)
	}

	server := infer.NewServer(sys, r.Deps.Chat, nil)
	srv := httptest.NewServer(server)
	t.Cleanup(srv.Close)
	var down atomic.Bool // whether the policy servers cannot load the new system yet
	down.Store(true)
	load := func(ctx context.Context, policy string, quorum int) error {
		if down.Load() {
			return fault.New(fault.Transient, "no policy server answers")
		}

		return r.Deps.Load(ctx, policy, quorum)
	}
	told, failed := make(chan infer.TrainedSystem, 9), make(chan error, 9)
	go server.Follow(t.Context(), r.Bucket, "mobile", time.Millisecond, load, func(s infer.TrainedSystem, err error) {
		if err != nil {
			failed <- err
		} else {
			told <- s
		}
	})

	answered := func(epoch int) {
		t.Helper()
		status, a := postChat(t, srv.URL, screenAsJSON(t, false),
			object{"model": "mobile", "collabui": object{"matrix": true}})
		if status != http.StatusOK || a.Model != "mobile" || a.Collabui.Decided == nil || a.Collabui.Epoch != epoch {
			t.Fatalf("a request is answered with %d by %+v, want the system of epoch %d", status, a, epoch)
		}
	}
	answered(0)
	accept(1, end.Best)
	if err := <-failed; fault.KindOf(err) != fault.Transient {
		t.Errorf("a system that cannot be loaded is told as %v, want a transient fault", err)
	}
	answered(0)
	down.Store(false)
	if s := <-told; s.Epoch != end.Best {
		t.Errorf("the server switches to epoch %d, want %d", s.Epoch, end.Best)
	}
	answered(end.Best)
	if len(failed) > 0 {
		t.Errorf("the same fault is told %d times more, want once", len(failed))
	}
}
