package results

import (
	"testing"

	"github.com/collabui/collabui/internal/policy/infer"
	"github.com/collabui/collabui/test/kit/testrun"
)

// TestATrainedSystemIsExported plays one small run and exports it in every way.
func TestATrainedSystemIsExported(t *testing.T) {
	r := testrun.Learning(t, testrun.Tiny())
	_, err := export(t.Context(), r.Bucket, "small", exportOptions{out: t.TempDir()})
	wantInvalid(t, err, "no data of stage 1 yet")

	if _, err := r.Play(t, nil); err != nil {
		t.Fatal(err)
	}
	sys, err := infer.Find(t.Context(), r.Bucket, "small", "1")
	if err != nil {
		t.Fatal(err)
	}
	t.Run("an epoch", func(t *testing.T) { exportsAnEpoch(t, r, sys) })
	t.Run("as base policy", func(t *testing.T) { exportsTheBase(t, r) })
	t.Run("early", func(t *testing.T) { exportsEarly(t, r) })
	t.Run("with adapters", func(t *testing.T) { exportsAdapters(t, r, sys) })
}
