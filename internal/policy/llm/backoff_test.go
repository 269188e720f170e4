package llm

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/collabui/collabui/fault"
)

func TestTheBackOffDoublesAndASuccessClearsIt(t *testing.T) {
	fs, p, c := fakes(t, 2, 0)
	at := preferred(p, fs, ask)
	at[0].set(says(500, ""))
	tries := func(want bool) {
		t.Helper()
		before := at[0].calls.Load()
		if _, err := p.Complete(t.Context(), ask); err != nil || (at[0].calls.Load() > before) != want {
			t.Fatalf("tried: %v, want %v (%v)", at[0].calls.Load() > before, want, err)
		}
	}

	tries(true)
	for _, s := range []int{2, 4, 8, 16, 30, 30} {
		c.advance(time.Duration(s)*time.Second - 1)
		tries(false)
		c.advance(1)
		tries(true)
	}

	at[1].set(says(500, "")) // after this, both are avoided, so both are tried anyway
	for range 2 {
		_, err := p.Complete(t.Context(), ask)
		both := err != nil && strings.Contains(err.Error(), fs[0].URL) && strings.Contains(err.Error(), fs[1].URL)
		if fault.KindOf(err) != fault.Transient || !both {
			t.Fatalf("Complete = %v, want a transient fault of both servers", err)
		}
	}

	at[0].set(says(200, answer))
	tries(true)
	at[0].set(says(500, ""))
	at[1].set(says(200, answer))
	tries(true) // no longer avoided
	c.advance(firstAvoid - 1)
	tries(false)
	c.advance(1)
	tries(true) // the back-off has started again
	c.advance(2*firstAvoid + maxAvoid + 1)
	tries(true) // an old failure is forgotten
	c.advance(firstAvoid)
	tries(true)
}

func TestCallsThatFailTogetherCountOnce(t *testing.T) {
	fs, p, c := fakes(t, 1, 0)
	arrived, release := make(chan bool), make(chan struct{})
	fs[0].set(func(w http.ResponseWriter, r *http.Request) {
		arrived <- true
		<-release
		says(500, "")(w, r)
	})

	var calls sync.WaitGroup
	for range 6 {
		calls.Go(func() { _, _ = p.Complete(t.Context(), ask) })
		<-arrived
	}

	c.advance(time.Second)
	close(release)
	calls.Wait()
	if got := p.servers[0].avoid[""].length; got != firstAvoid {
		t.Errorf("avoided for %v, want %v", got, firstAvoid)
	}
}
