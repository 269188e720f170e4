//go:build integration

package integration

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/collabui/collabui/internal/config"
	"github.com/collabui/collabui/internal/policy/limits"
)

// TestWorkersShareALimitThroughRedis expects that two workers together keep to a limit. It measures rates, so it runs
// alone.
func TestWorkersShareALimitThroughRedis(t *testing.T) {
	const perMinute, seconds = 1200, 3
	url := outsideRedis(t)
	limit := limits.Limit{Name: "shared", Requests: perMinute}
	var workers []*limits.Limiter
	for i := range 2 {
		client, err := config.Endpoints{Redis: url}.OpenRedis()
		if err != nil {
			t.Fatal(err)
		}
		workers = append(workers, limits.Over(client, fmt.Sprint("worker-", i)))
	}

	turns := func(window time.Duration) int {
		ctx, cancel := context.WithTimeout(t.Context(), window)
		defer cancel()
		var n atomic.Int64
		var all sync.WaitGroup
		for _, w := range workers {
			all.Go(func() {
				for w.Wait(ctx, limit, 0) == nil {
					n.Add(1)
				}
			})
		}
		all.Wait()

		return int(n.Load())
	}

	const burst, want = perMinute / 6, seconds * perMinute / 60
	if n := turns(seconds * time.Second); n < burst || n > burst+want+10 {
		t.Errorf("%d turns at first, want the burst of %d and up to %d more", n, burst, want)
	}

	if n := turns(seconds * time.Second); n < want-15 || n > want+15 {
		t.Errorf("%d turns in %d s, want %d", n, seconds, want)
	}

	// The clock of Redis was an hour ahead when these turns were reserved, and was set back.
	o, err := redis.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	c := redis.NewClient(o)
	ahead := time.Now().Add(time.Hour).UnixMilli()
	if err := c.Set(t.Context(), "collabui:{limit}:shared:requests", ahead, 0).Err(); err != nil {
		t.Fatal(err)
	}
	_ = c.Close()
	if n := turns(seconds * time.Second); n < want {
		t.Errorf("%d turns in %d s after the clock was set back, want at least %d", n, seconds, want)
	}
}
