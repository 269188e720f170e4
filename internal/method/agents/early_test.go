package agents

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"sync/atomic"
	"testing"
	"time"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/chat"
)

// hastyModel answers by the seed alone, after a delay that differs from call to call.
type hastyModel struct {
	seed  uint64
	kinds int
	calls atomic.Int64
}

func (h *hastyModel) Complete(ctx context.Context, q chat.Request) (chat.Response, error) {
	select {
	case <-time.After(time.Duration(rand.IntN(300)) * time.Microsecond):
	case <-ctx.Done():
		return chat.Response{}, context.Cause(ctx)
	}
	h.calls.Add(1)
	text := "nonsense"
	if k := int(domain.Seed(h.seed, "answer", int(q.Seed>>32)) % uint64(h.kinds)); k > 0 {
		text = click(k)
	}
	if text == click(1) { // texts that differ in case have the same canonical form
		word := [...]string{"milk", "Milk"}[q.Seed%2]
		text = fmt.Sprintf("Reason: r\nAction: {\"action_type\":\"open_app\",\"app_name\":%q}", word)
	}

	return chat.Response{Texts: []string{text}}, nil
}

func TestCellsThatCannotChangeTheVoteAreNotAskedFor(t *testing.T) {
	var view View
	for i := range 6 {
		view.Observation.Elements = append(view.Observation.Elements, domain.Element{Index: i, Visible: true})
	}
	saved := int64(0)
	for seed := range uint64(300) {
		c := Config{
			Policies:    []string{"p", "p", "p", "p"},
			Topology:    domain.RandomTopology(seed, 1, 4, nil),
			Rounds:      3,
			Temperature: make([]float64, 4),
			VoteScope:   ScopeAll,
		}
		if seed%3 == 0 {
			c.VoteScope = ScopeLast
		}
		kinds := 2 + int(seed%4)
		all := &hastyModel{seed: seed, kinds: kinds}
		want := decide(t, all, c, view, seed)

		c.Early = true
		for range 3 {
			h := &hastyModel{seed: seed, kinds: kinds}
			got := decide(t, h, c, view, seed)
			if got.Executed.JSON() != want.Executed.JSON() {
				t.Fatalf("seed %d, scope %s: decided %s early, want %s", seed, c.VoteScope, got.Executed.JSON(),
					want.Executed.JSON())
			}
			if !reflect.DeepEqual(got.Seen, want.Seen) {
				t.Fatalf("seed %d: agents saw %v early, want %v", seed, got.Seen, want.Seen)
			}
			saved += all.calls.Load() - h.calls.Load()
		}
	}
	if saved < 300 {
		t.Errorf("%d calls were saved, want at least 300", saved)
	}
}

func TestACancelledDecisionIsNotMade(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c := Config{
		Policies:    []string{"p"},
		Topology:    domain.Topology{Agents: 1},
		Rounds:      1,
		Temperature: []float64{0},
		Early:       true,
	}
	d, err := Decide(ctx, &hastyModel{kinds: 2}, c, View{}, 1)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Decide() = %s, want %v", fmt.Sprint(d, err), context.Canceled)
	}
}
