package limits

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/config"
)

// loneWorker returns the limiter of one of several workers, without Redis, and its clock.
func loneWorker(t *testing.T, peers int) (*Limiter, *time.Time) {
	t.Helper()
	l := Over(nil, "w")
	clock := time.Unix(1000, 0)
	l.now, l.began, l.peers = func() time.Time { return clock }, clock, peers
	return l, &clock
}

func TestAWorkerAloneKeepsToItsShare(t *testing.T) {
	for name, c := range map[string]struct {
		limit         Limit
		peers, tokens int
		perMinute     int // number of requests that get a turn
	}{
		"requests, one worker":    {Limit{Name: "a", Requests: 60}, 1, 0, 60},
		"requests, three workers": {Limit{Name: "a", Requests: 60}, 3, 0, 20},
		"tokens":                  {Limit{Name: "a", Tokens: 6000}, 1, 100, 60},
		"both":                    {Limit{Name: "a", Tokens: 6000, Requests: 30}, 2, 100, 15},
	} {
		t.Run(name, func(t *testing.T) {
			l, clock := loneWorker(t, c.peers)
			l.turn(t.Context(), c.limit, c.tokens, true)
			for range 10 * c.perMinute { // use up the burst
				if l.turn(t.Context(), c.limit, c.tokens, true) > 0 {
					break
				}
			}

			got := 0
			for range 3 * 60 * 10 {
				*clock = clock.Add(100 * time.Millisecond)
				if before := *l.ownTurns["a"]; l.turn(t.Context(), c.limit, c.tokens, true) == 0 {
					got++
				} else {
					*l.ownTurns["a"] = before // this test does not wait
				}
			}

			if want := 3 * c.perMinute; got < want-3 || got > want+3 {
				t.Errorf("%d turns in three minutes, want %d", got, want)
			}
		})
	}
}

func TestTurnsAreReservedInOrderAndNoneIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := Over(nil, "w")
		began := time.Now()
		var wg sync.WaitGroup
		for range 31 {
			wg.Go(func() {
				if err := l.Wait(t.Context(), Limit{Name: "a", Requests: 6}, 0); err != nil {
					t.Errorf("got %v, want a turn", err)
				}
			})
		}
		wg.Wait()
		if d := time.Since(began); d < 4*time.Minute || d > 6*time.Minute {
			t.Errorf("31 requests at 6 per minute took %v, want some 5 minutes", d)
		}
	})
}

func TestTurnsThatAreTooFarAwayAreNotReservedAndSettlingMovesThem(t *testing.T) {
	l, _ := loneWorker(t, 1)
	m := Limit{Name: "a", Tokens: 600} // ten per second
	if err := l.Wait(t.Context(), m, 9000); err != nil {
		t.Fatal(err)
	}

	err := l.Wait(t.Context(), m, 10)
	if kind := fault.KindOf(err); kind != fault.Throttled {
		t.Fatalf("a far turn is %v of kind %s, want it throttled", err, kind)
	}
	if after := fault.RetryAfter(err); after < 8*time.Minute || after > 11*time.Minute {
		t.Fatalf("Retry-After %v, want 8 to 11 min", after)
	}

	l.Settle(t.Context(), m, -8990)
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
		t.Error("Wait with a cancelled context = nil, want an error")
	}
}

func TestARedisThatIsDownCostsOneTryInAWhile(t *testing.T) {
	client, err := config.Endpoints{Redis: "redis://127.0.0.1:1/0"}.OpenRedis()
	if err != nil {
		t.Fatal(err)
	}
	l := Over(client, "w")

	began := time.Now()
	for range 50 {
		if err := l.Wait(t.Context(), Limit{Name: "a", Requests: 1000000}, 0); err != nil {
			t.Fatal(err)
		}
	}
	if d := time.Since(began); d > 2*time.Second {
		t.Errorf("50 calls took %v, want at most 2 s", d)
	}
}
