package activities

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/store/runs"
)

// TestAnUpdateLeavesOutRowsThatWereMadeForAnother: rows of earlier epochs stay when the specification changes.
func TestAnUpdateLeavesOutRowsThatWereMadeForAnother(t *testing.T) {
	t.Parallel()
	for source, want := range map[domain.Source]map[spec.Preference]bool{
		domain.SourcePeer:  {spec.PreferenceDPO: true, spec.PreferenceRFT: true},
		domain.SourceGroup: {spec.PreferenceGRPO: true},
		domain.SourceNone:  {spec.PreferenceRFT: true},
	} {
		for _, p := range []spec.Preference{spec.PreferenceDPO, spec.PreferenceRFT, spec.PreferenceGRPO} {
			s := spec.Default()
			s.Preference = p
			if got := fits(s, domain.Pair{Source: source}); got != want[p] {
				t.Errorf("a row of source %q fits %s: %v, want %v", source, p, got, want[p])
			}
		}
	}
}

// TestPairsOfAnEarlierEpochAreReadWithItsNumberOfSlots: `slots` may change between two epochs.
func TestPairsOfAnEarlierEpochAreReadWithItsNumberOfSlots(t *testing.T) {
	t.Parallel()
	g, run := &GPU{Common: Common{Bucket: &store.Memory{}}}, runs.Run("r")
	if _, _, err := run.Slots(1).Record(t.Context(), g.Bucket, func() (runs.Slots, error) {
		return runs.Slots{Epoch: 1, Slots: make([]domain.Slot, 3)}, nil
	}); err != nil {
		t.Fatal(err)
	}
	for slot := 1; slot <= 3; slot++ {
		if _, _, err := run.Pairs(1, slot).Record(t.Context(), g.Bucket, func() (runs.Pairs, error) {
			return runs.Pairs{Pairs: []domain.Pair{{Agent: 0, Source: domain.SourcePeer}}}, nil
		}); err != nil {
			t.Fatal(err)
		}
	}

	for _, slots := range []int{2, 3, 4} {
		s := spec.Default()
		s.Slots = slots
		got := 0
		err := g.eachPair(t.Context(), s, EpochID{Run: string(run), Epoch: 1}, func(domain.Pair) { got++ })
		if err != nil || got != 3 {
			t.Errorf("with %d slots now: %d pairs, %v, want the 3 of the epoch", slots, got, err)
		}
	}
}

// counted counts reads of objects.
type counted struct {
	store.Bucket
	reads atomic.Int64
}

func (c *counted) Get(ctx context.Context, key string) ([]byte, error) {
	c.reads.Add(1)

	return c.Bucket.Get(ctx, key)
}

// TestTheFirstUpdateGathersTheDataSetsOfAllAgents: the pairs of an epoch are read once, and not once per agent.
func TestTheFirstUpdateGathersTheDataSetsOfAllAgents(t *testing.T) {
	t.Parallel()
	const slots, agents = 40, 4
	b := &counted{Bucket: &store.Memory{}}
	g, run := &GPU{Common: Common{Bucket: b}}, runs.Run("r")
	if _, _, err := run.Slots(1).Record(t.Context(), b, func() (runs.Slots, error) {
		return runs.Slots{Epoch: 1, Slots: make([]domain.Slot, slots)}, nil
	}); err != nil {
		t.Fatal(err)
	}
	for slot := 1; slot <= slots; slot++ {
		if _, _, err := run.Pairs(1, slot).Record(t.Context(), b, func() (runs.Pairs, error) {
			agent := slot % (agents - 1) // the last has none
			return runs.Pairs{Pairs: []domain.Pair{
				{Agent: agent, Slot: slot, Source: domain.SourcePeer},
				{Agent: agents, Slot: slot, Source: domain.SourcePeer}, // of nobody
			}}, nil
		}); err != nil {
			t.Fatal(err)
		}
	}

	s := spec.Default()
	s.Agents = agents
	b.reads.Store(0)
	for agent := range agents {
		id := AgentID{Run: string(run), Epoch: 1, Agent: agent}
		ref, pairs, err := g.dataset(t.Context(), s, id)
		if err != nil || ref.Key != run.Dataset(1, agent).Key {
			t.Fatalf("agent %d: %v, %v, want the reference to its data set", agent, ref, err)
		}
		for i, p := range pairs {
			if p.Agent != agent || i > 0 && pairs[i-1].Slot >= p.Slot {
				t.Errorf("agent %d has the pair of agent %d from slot %d as number %d, want its own in order",
					agent, p.Agent, p.Slot, i)
			}
		}
		want := 0
		for slot := 1; slot <= slots; slot++ {
			if slot%(agents-1) == agent {
				want++
			}
		}
		if len(pairs) != want {
			t.Errorf("agent %d has %d pairs, want %d", agent, len(pairs), want)
		}
	}
	if got := b.reads.Load(); got > 2*slots {
		t.Errorf("%d objects were read for %d slots and %d agents, want every slot once", got, slots, agents)
	}
}
