//go:build integration

package integration

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/collabui/collabui/internal/policy/limits"
)

// TestWorkersShareALimitThroughRedis: two workers together keep to a limit; when Redis is gone each keeps to half of it.
func TestWorkersShareALimitThroughRedis(t *testing.T) {
	const perMinute, seconds = 1200, 3
	m := newMachine(t)
	url := "redis://" + m.outside(nil, "collabui-local", "redis")
	limit := limits.Limit{Name: "shared", Requests: perMinute}
	var workers []*limits.Limiter
	for i := range 2 {
		l, err := limits.Open(url, fmt.Sprint("worker-", i))
		if err != nil {
			t.Fatal(err)
		}
		workers = append(workers, l)
	}
	turns := func(window time.Duration) int {
		ctx, cancel := context.WithTimeout(t.Context(), window)
		defer cancel()
		var n atomic.Int64
		done := make(chan struct{})
		for _, w := range workers {
			go func() {
				for w.Wait(ctx, limit, 0) == nil {
					n.Add(1)
				}
				done <- struct{}{}
			}()
		}
		<-done
		<-done
		return int(n.Load())
	}
	const burst, want = perMinute / 6, seconds * perMinute / 60
	first := turns(seconds * time.Second)
	if first < burst || first > burst+want+10 {
		t.Errorf("%d turns at first, want the burst of %d and up to %d more", first, burst, want)
	}
	if n := turns(seconds * time.Second); n < want-15 || n > want+15 {
		t.Errorf("%d turns in %d s, want %d", n, seconds, want)
	}
	m.end()
	turns(time.Second)
	turns(2 * time.Second) // each worker's own burst
	if n := turns(seconds * time.Second); n > want+15 {
		t.Errorf("%d turns in %d s without Redis, want at most %d", n, seconds, want)
	}
}
