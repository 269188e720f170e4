package credit

import (
	"math"
	"strings"
	"testing"

	"github.com/collabui/collabui/domain"
)

func TestStyleLeaksAreFound(t *testing.T) {
	var leak, clean []domain.Example
	for i := range 100 {
		leak = append(leak, domain.Example{Slot: i, Chosen: "surely click", Rejected: "maybe click"})
		clean = append(clean, domain.Example{Slot: i, Chosen: click(i), Rejected: click(i + 1)})
	}
	if auc := StyleAUC(leak); auc < 0.99 {
		t.Errorf("StyleAUC of a leak is %v, want nearly 1", auc)
	}
	// Several pairs share the answers of a slot. Answers that one fold has memorised are not a style.
	var known []domain.Example
	for i := range 100 {
		known = append(known, domain.Example{
			Slot: i / 2, Chosen: "click " + strings.Repeat("a", i/2+1), Rejected: "click " + strings.Repeat("b", i/2+1),
		})
	}
	if auc := StyleAUC(known); math.Abs(auc-0.5) > 0.01 {
		t.Errorf("StyleAUC of slots that have no word in common is %v, want about 0.5", auc)
	}
	if auc := StyleAUC(clean); math.Abs(auc-0.5) > 0.01 {
		t.Errorf("StyleAUC without a leak is %v, want about 0.5", auc)
	}
}
