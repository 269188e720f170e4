//go:build integration

package integration

import (
	"context"
	"fmt"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/envadapters/openenv"
	"github.com/collabui/collabui/envadapters/scripted"
)

// demonstrated is the number of tasks of stage 1 in heldRun.
const demonstrated = 12

// heldRun is a small run in an environment of its own.
const heldRun = `name: kill
environment: mine
environments:
  mine: {suite: openenv, servers: ["ws://%s/ws"], places: 4}
epochs: 2
slots: 4
rounds: 1
failed_share: 0.1
finetune: {demonstrations: %d, chunk_steps: 10, max_chunks: 1, stop_low: 0}
pairs: {kind: +correction, min_pairs: 1}
evaluation: {val: 2, test_seeds: 2, test_templates: 0, test_apps: 0}
`

// broken is a suite whose training tasks are at fault, except the tasks of stage 1, until it is mended.
type broken struct {
	*scripted.Suite
	mu     sync.Mutex
	mended bool
	known  map[uint64]bool // seeds of stage 1
}

func (b *broken) mend() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.mended = true
}

// fails reports whether a task is at fault.
func (b *broken) fails(t domain.Task) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if t.Split != domain.SplitTrain || b.mended || t.Seed == 1 { // 1: the list of tasks is made
		return false
	}
	if len(b.known) < demonstrated {
		b.known[t.Seed] = true
	}

	return !b.known[t.Seed]
}

func (b *broken) Open(ctx context.Context) (envadapters.Environment, error) {
	e, err := b.Suite.Open(ctx)
	if err != nil {
		return nil, err
	}

	return &breakable{playable: e.(playable), suite: b}, nil
}

// playable contains the methods of an environment of the scripted suite.
type playable interface {
	envadapters.Environment
	envadapters.Judge
	envadapters.Expert
	envadapters.Replayable
}

type breakable struct {
	playable
	suite *broken
}

func (e *breakable) Reset(ctx context.Context, t domain.Task) (envadapters.Transition, error) {
	if e.suite.fails(t) {
		return envadapters.Transition{}, fmt.Errorf("%w: its page is gone", envadapters.ErrTask)
	}

	return e.playable.Reset(ctx, t)
}

// holds starts a run in which all slots of epoch 1 fail, and waits until the run waits for a person.
func holds(t *testing.T) (*machine, *broken) {
	t.Helper()
	b := &broken{Suite: &scripted.Suite{Length: 2}, known: map[uint64]bool{}}
	handler, err := openenv.Handler(b)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	m := newMachine(t, fmt.Sprintf(heldRun, strings.TrimPrefix(server.URL, "http://"), demonstrated))
	m.must("train", m.spec, "--detach")
	m.reaches("it asks a person", 2*time.Minute, func(s shown) bool { return s.Status == "paused" })
	m.says([]string{"4 of 4 slots", "collabui resume kill --retry-failed"}, "show", "kill")

	return m, b
}

// TestARunGoesOnWithoutFailedSlots makes a person leave out the slots of an epoch, and play the next epoch's again in a
// mended environment.
func TestARunGoesOnWithoutFailedSlots(t *testing.T) {
	t.Parallel()
	m, b := holds(t)
	m.refuses("--why", "resume", "kill", "--accept-failed")
	m.must("resume", "kill", "--accept-failed", "--why", "the pages are gone")
	m.committed(1, time.Minute)
	m.reaches("it asks again", 2*time.Minute, func(s shown) bool { return s.Status == "paused" })
	b.mend()
	m.says([]string{"played again: 4 slots of epoch 2, [1 2 3 4]"}, "resume", "kill", "--retry-failed")
	m.finish()
	m.says([]string{"epoch 1: 4 failed slots, accepted by", "the pages are gone"}, "show", "kill")
}
