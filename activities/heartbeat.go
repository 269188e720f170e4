package activities

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"
)

// heartbeatEvery returns the time between two heartbeats inside of this process. The SDK sends the first one, and then
// one in 80 % of the timeout. Each is a write of the server; an activity that ends before the first one costs none.
func heartbeatEvery(ctx context.Context) time.Duration {
	const usual = 15 * time.Second
	if !activity.IsActivity(ctx) {
		return usual
	}

	return cmp.Or(activity.GetInfo(ctx).HeartbeatTimeout/4, usual)
}

// The time after which an activity without progress counts as hung.
const (
	controlSilence = 5 * time.Minute
	playSilence    = 15 * time.Minute  // waits for models and environments are reported as progress
	jobSilence     = 100 * time.Minute // a training program that loads its model reports nothing
)

// maxSilence returns how long an activity of a task queue may report no progress.
func maxSilence(queue string) time.Duration {
	switch queue {
	case QueueControl, QueueCare:
		return controlSilence
	case QueueGPU:
		return jobSilence
	}

	return playSilence
}

// hungError is the error of an activity that reported no progress for too long.
type hungError struct{ silence time.Duration }

func (e hungError) Error() string {
	return fmt.Sprintf("no progress for %v: the activity is given up and tried again", e.silence)
}

// heartbeat beats from its own goroutine until stop is called, with the newest line of progress. A heartbeat means
// progress: if none is reported for maxSilence, it gives the activity up and stops beating. After stop, which may be
// called repeatedly, there is no heartbeat.
func heartbeat(
	ctx context.Context, giveUp context.CancelCauseFunc, maxSilence time.Duration,
) (progress func(string), stop func()) {
	var mu sync.Mutex
	line := "started"
	reported := time.Now()
	end := make(chan struct{})
	ended := make(chan struct{})

	newest := func() (string, time.Duration) {
		mu.Lock()
		defer mu.Unlock()

		return line, time.Since(reported)
	}
	go func() {
		defer close(ended)
		ticker := time.NewTicker(heartbeatEvery(ctx))
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				line, silence := newest()
				if silence > maxSilence {
					giveUp(hungError{maxSilence})

					return
				}
				activity.RecordHeartbeat(ctx, line)
			case <-end:
				return
			}
		}
	}()

	progress = func(newest string) {
		mu.Lock()
		defer mu.Unlock()
		line = newest
		reported = time.Now()
	}

	return progress, sync.OnceFunc(func() {
		close(end)
		<-ended
	})
}
