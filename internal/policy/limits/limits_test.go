package limits

import (
	"context"
	"testing"
	"time"

	"github.com/collabui/collabui/fault"
)

func alone(t *testing.T, peers int) (*Limiter, *time.Time) {
	t.Helper()
	l, err := Open("", "w")
	if err != nil {
		t.Fatal(err)
	}
	clock := time.Unix(1000, 0)
	l.now, l.peers = func() time.Time { return clock }, peers
	return l, &clock
}

func TestAWorkerAloneKeepsToItsShare(t *testing.T) {
	for _, x := range []struct {
		limit         Limit
		peers, tokens int
		perMinute     int // requests that get a turn
	}{
		{Limit{Name: "a", Requests: 60}, 1, 0, 60}, {Limit{Name: "a", Requests: 60}, 3, 0, 20}, {Limit{Name: "a", Tokens: 6000}, 1, 100, 60}, {Limit{Name: "a", Tokens: 6000, Requests: 30}, 2, 100, 15},
	} {
		l, clock := alone(t, x.peers)
		l.turn(t.Context(), x.limit, x.tokens, true)
		for range 10 * x.perMinute { // use up the burst
			if l.turn(t.Context(), x.limit, x.tokens, true) > 0 {
				break
			}
		}
		got := 0
		for range 3 * 60 * 10 {
			*clock = clock.Add(100 * time.Millisecond)
			if before := *l.own["a"]; l.turn(t.Context(), x.limit, x.tokens, true) == 0 {
				got++
			} else {
				*l.own["a"] = before // nobody waits in this test
			}
		}
		if got < 3*x.perMinute-3 || got > 3*x.perMinute+3 {
			t.Errorf("%+v: %d turns in three minutes, want %d", x, got, 3*x.perMinute)
		}
	}
}

func TestFarTurnsGoBackToTheEngineAndSettlingMovesThem(t *testing.T) {
	l, _ := alone(t, 1)
	m := Limit{Name: "a", Tokens: 600} // ten a second
	if err := l.Wait(t.Context(), m, 600); err != nil {
		t.Fatal(err)
	}
	err := l.Wait(t.Context(), m, 10)
	if fault.KindOf(err) != fault.Throttled || fault.RetryAfter(err) < 30*time.Second || fault.RetryAfter(err) > 50*time.Second {
		t.Fatal(err, fault.RetryAfter(err))
	}
	l.Settle(t.Context(), m, -590)
	if err := l.Wait(t.Context(), m, 10); err != nil {
		t.Fatal(err)
	}
	if err := l.Wait(t.Context(), Limit{Name: "free"}, 1<<30); err != nil {
		t.Fatal(err)
	}
	busy := Limit{Name: "b", Requests: 6}
	for l.turn(t.Context(), busy, 0, true) == 0 {
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := l.Wait(ctx, busy, 0); err == nil {
		t.Error("a cancelled wait ended well")
	}
}

func TestARedisThatIsDownCostsOneTryInAWhile(t *testing.T) {
	l, err := Open("redis://127.0.0.1:1/0", "w")
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	for range 50 {
		if err := l.Wait(t.Context(), Limit{Name: "a", Requests: 1000000}, 0); err != nil {
			t.Fatal(err)
		}
	}
	if d := time.Since(began); d > 2*time.Second {
		t.Errorf("50 calls took %v", d)
	}
	if _, err := Open("http://x", "w"); fault.KindOf(err) != fault.Invalid {
		t.Error(err)
	}
}
