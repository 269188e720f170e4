package update

import (
	"testing"

	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/runs"
)

func TestTheReferenceOfAnUpdateIsTheOneAskedFor(t *testing.T) {
	t.Parallel()
	base, parent := runs.Policy{Digest: "base"}, runs.Policy{Digest: "parent"}
	for reference, want := range map[spec.Reference]string{
		spec.ReferenceBase: "base", spec.ReferenceEpochStart: "parent",
	} {
		s := spec.Default()
		s.Reference = reference
		job := updateJob(s, AgentID{Run: "r", Epoch: 2}, runs.Update{Parent: parent}, base, nil)
		if job.Start != "parent" || job.Reference != want {
			t.Errorf("reference %s: the update begins with %s and refers to %s, want parent and %s",
				reference, job.Start, job.Reference, want)
		}
	}
}
