package update

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/collabui/collabui/activities"
	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
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
			if got := fitsUpdate(s, domain.Example{Source: source}); got != want[p] {
				t.Errorf("a row of source %q fits %s: %v, want %v", source, p, got, want[p])
			}
		}
	}
}

// TestPairsOfAnEarlierEpochAreReadWithItsNumberOfSlots: `slots` may change between two epochs.
func TestPairsOfAnEarlierEpochAreReadWithItsNumberOfSlots(t *testing.T) {
	t.Parallel()
	g := &GPU{Common: activities.Common{Bucket: &store.Memory{}}}
	run := runs.Run("r")
	if _, _, err := run.Slots(1).Record(t.Context(), g.Bucket, func() (runs.Slots, error) {
		return runs.Slots{Epoch: 1, Slots: make([]domain.Slot, 3)}, nil
	}); err != nil {
		t.Fatal(err)
	}
	for slot := 1; slot <= 3; slot++ {
		if _, _, err := run.Pairs(1, slot).Record(t.Context(), g.Bucket, func() (runs.Pairs, error) {
			return runs.Pairs{Pairs: []domain.Example{{Agent: 0, Source: domain.SourcePeer}}}, nil
		}); err != nil {
			t.Fatal(err)
		}
	}

	for _, slots := range []int{2, 3, 4} {
		s := spec.Default()
		s.Slots = slots
		got := 0
		err := g.eachPair(t.Context(), s, activities.EpochID{Run: string(run), Epoch: 1},
			func(domain.Example) { got++ })
		if err != nil || got != 3 {
			t.Errorf("with %d slots now: %d pairs, %v, want the 3 of the epoch", slots, got, err)
		}
	}
}

// counted counts reads of the pairs of episodes.
type counted struct {
	store.Bucket
	reads atomic.Int64
	slow  func() // before every one
}

func (c *counted) Get(ctx context.Context, key string) ([]byte, error) {
	if strings.HasSuffix(key, "/pairs.json") {
		c.reads.Add(1)
		if c.slow != nil {
			c.slow()
		}
	}

	return c.Bucket.Get(ctx, key)
}

// TestTheFirstUpdateGathersTheDataSetsOfAllAgents: the pairs of an epoch are read once, and not once per agent.
func TestTheFirstUpdateGathersTheDataSetsOfAllAgents(t *testing.T) {
	t.Parallel()
	const slots, agents = 40, 4
	b := &counted{Bucket: &store.Memory{}}
	g := &GPU{Common: activities.Common{Bucket: b, Runs: activities.NewRuns(b, "")}}
	run := runs.Run("r")
	if _, _, _, err := run.Spec().Write(t.Context(), b, spec.Default()); err != nil {
		t.Fatal(err)
	}
	if _, _, err := run.Slots(1).Record(t.Context(), b, func() (runs.Slots, error) {
		return runs.Slots{Epoch: 1, Slots: make([]domain.Slot, slots)}, nil
	}); err != nil {
		t.Fatal(err)
	}
	for slot := 1; slot <= slots; slot++ {
		if _, _, err := run.Pairs(1, slot).Record(t.Context(), b, func() (runs.Pairs, error) {
			agent := slot % (agents - 1) // the last has none
			return runs.Pairs{Pairs: []domain.Example{
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
	gone, cancel := context.WithCancel(t.Context())
	b.slow = func() { cancel(); time.Sleep(time.Millisecond) } // whoever is cancelled does not end it for the others
	var updates sync.WaitGroup
	for agent := range agents {
		updates.Go(func() {
			id := AgentID{Run: string(run), Epoch: 1, Agent: agent}
			if agent == 0 {
				if _, _, err := g.dataset(gone, s, id); err != nil && !errors.Is(err, context.Canceled) {
					t.Errorf("agent 0, which was cancelled: %v, want %v", err, context.Canceled)
				}

				return
			}
			wantOwnPairs(t, g, s, id)
		})
	}
	updates.Wait()
	wantOwnPairs(t, g, s, AgentID{Run: string(run), Epoch: 1})
	if got := b.reads.Load(); got != slots {
		t.Errorf("the pairs of %d slots were read %d times for %d agents, want once each", slots, got, agents)
	}
}

// wantOwnPairs checks that an agent's data set has the pairs that are its own, one of every third slot, in order.
func wantOwnPairs(t *testing.T, g *GPU, s spec.Spec, id AgentID) {
	t.Helper()
	ref, pairs, err := g.dataset(t.Context(), s, id)
	if err != nil || ref.Key != runs.Run(id.Run).Dataset(id.Epoch, id.Agent).Key {
		t.Errorf("agent %d: %v, %v, want the reference to its data set", id.Agent, ref, err)
	}
	var got, want []int
	for _, p := range pairs {
		if p.Agent != id.Agent {
			t.Errorf("agent %d has a pair of agent %d, want its own only", id.Agent, p.Agent)
		}
		got = append(got, p.Slot)
	}
	for slot := 1; slot <= 40; slot++ {
		if slot%3 == id.Agent {
			want = append(want, slot)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("agent %d has pairs of the slots %v, want %v", id.Agent, got, want)
	}
}

func TestRightAnswersBesidePairsAreNoPairs(t *testing.T) {
	t.Parallel()
	s := spec.Default()
	s.Train.SFT = 1
	if !fitsUpdate(s, domain.Example{Source: domain.SourceNone}) {
		t.Error("a right answer does not fit an update that learns from it")
	}

	pair := domain.Example{Template: "a", Chosen: "click here", Rejected: "type there", Source: domain.SourceOwn}
	right := domain.Example{Template: "b", Chosen: "tell them", Source: domain.SourceNone}
	rows := []domain.Example{right, pair, right, pair, right}
	rules.Weigh(s, rows, true)
	for i, row := range rows {
		if row.Source != []domain.Source{domain.SourceNone, domain.SourceOwn}[i%2] || row.Weight != 1 {
			t.Errorf("row %d is of source %s with weight %v, want its source and 1", i, row.Source, row.Weight)
		}
	}
	card := describe(s, rows)
	only := describe(spec.Default(), []domain.Example{pair, pair})
	if card.Right != 3 || card.BySource[domain.SourceNone] != 3 || card.BySource[domain.SourceOwn] != 2 {
		t.Errorf("the card counts %d right answers in %v, want 3, and 2 pairs", card.Right, card.BySource)
	}
	if card.StyleAUC != only.StyleAUC || card.Chosen != only.Chosen || card.Duplicates != only.Duplicates {
		t.Errorf("the card is %+v, want the figures of the pairs alone, %+v", card, only)
	}
}
