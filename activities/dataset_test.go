package activities

import (
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
		if got, err := g.pairsOf(t.Context(), s, AgentID{Run: string(run), Epoch: 1}); err != nil || len(got) != 3 {
			t.Errorf("with %d slots now: %d pairs, %v, want the 3 of the epoch", slots, len(got), err)
		}
	}
}
