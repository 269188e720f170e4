package activities

import (
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/store"
)

// TestTheFirstStageBeginsWithTheGivenPolicy; the base model of a trainer is no digest.
func TestTheFirstStageBeginsWithTheGivenPolicy(t *testing.T) {
	d := &Deps{Bucket: &store.Memory{}}
	for base, want := range map[string]string{"": "", domain.UntrainedBase: "", "abc": "abc"} {
		s := spec.Default()
		s.FineTune.Base = base
		if got, steps, err := d.before(t.Context(), s, ChunkID{Run: "r", Chunk: 1}); err != nil || got != want || steps != 0 {
			t.Errorf("%q: %q %v", base, got, err)
		}
	}
}
