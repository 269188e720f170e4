package activities

import (
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/spec"
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
