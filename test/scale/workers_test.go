//go:build integration

package scale

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/test/kit/pipeline"
	"github.com/collabui/collabui/workflows"
)

// perPlace is the number of episodes that every place plays on average.
const perPlace = 6

// TestThroughputGrowsWithRolloutWorkers plays an epoch with 1, 4, 16 and 64 rollout workers of three places each, whose
// steps have heavy-tailed times, and compares the episodes per second. The epoch has six episodes per place.
func TestThroughputGrowsWithRolloutWorkers(t *testing.T) {
	latency := time.Duration(size("SCALE_LATENCY_MS", 2000)) * time.Millisecond
	most := size("SCALE_WORKERS", 64)
	fmt.Printf("\nsteps take %v (median), lognormal with σ = 1\n", latency)
	fmt.Println("| rollout workers | places | episodes | wall | episodes/s | times one worker | CPU of Temporal, S3 |")
	fmt.Println("|---|---|---|---|---|---|---|")
	one := 0.0
	for n := 1; n <= most; n *= 4 {
		slots := n * pipeline.Places * perPlace
		c := playWith(t, n, slots, latency)
		rate := float64(slots) / c.wall
		if n == 1 {
			one = rate
		}
		perEpisode := func(process string) float64 { return 1000 * c.cpu[process] / float64(slots) }
		fmt.Printf("| %d | %d | %d | %.0f s | %.2f | %.1f | %.0f, %.0f ms per episode |\n", n, n*pipeline.Places, slots,
			c.wall, rate, rate/one, perEpisode(pipeline.Temporal), perEpisode(pipeline.S3))
		if rate < 0.6*float64(n)*one {
			t.Errorf("%d workers play %.2f episodes a second, want at least 0.6 times %d times %.2f", n, rate, n, one)
		}
	}
}

// playWith plays one epoch on fresh services, with n workers for rollouts and one for the rest.
func playWith(t *testing.T, n, slots int, latency time.Duration) cost {
	p := start(t, pipeline.RolesEnv+"="+strings.Join([]string{
		workflows.QueueControl, workflows.QueueModel, workflows.QueueGPU,
	}, " "))
	defer p.pipeline.Close()
	for i := range n {
		err := p.pipeline.StartWorkerAs("rollout "+strconv.Itoa(i), p.pipeline.Services,
			pipeline.RolesEnv+"="+workflows.QueueRollout, pipeline.LatencyEnv+"="+latency.String())
		if err != nil {
			t.Fatal(err)
		}
	}

	return p.play(slots, min(slots, rules.ShardSize)) // wide enough for all places
}
