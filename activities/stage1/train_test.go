package stage1

import (
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/store"
)

func TestTheFirstLevelJobBeginsWithTheGivenPolicy(t *testing.T) {
	for _, c := range []struct{ name, base, want string }{
		{"a new policy", "", ""},
		{"the base model of a trainer is not a digest", domain.UntrainedBase, ""},
		{"a digest", "abc", "abc"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := spec.Default()
			s.FineTune.Base = c.base
			got, steps, err := policyBefore(t.Context(), &store.Memory{}, s, ChunkID{Run: "r", Chunk: 1})
			if err != nil || got != c.want || steps != 0 {
				t.Errorf("policyBefore = %q, %d steps, %v; want %q, 0 steps, no error", got, steps, err, c.want)
			}
		})
	}
}
