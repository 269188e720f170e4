package credit

import (
	"math"
	"testing"

	"github.com/collabui/collabui/domain"
)

func TestStyleLeaksAreFound(t *testing.T) {
	var leak, clean []domain.Pair
	for i := range 100 {
		leak = append(leak, domain.Pair{Chosen: "surely click", Rejected: "maybe click"})
		clean = append(clean, domain.Pair{Chosen: click(i), Rejected: click(i + 1)})
	}
	if auc := StyleAUC(leak); auc < 0.99 {
		t.Errorf("StyleAUC of a leak is %v, want nearly 1", auc)
	}
	if auc := StyleAUC(clean); math.Abs(auc-0.5) > 0.01 {
		t.Errorf("StyleAUC without a leak is %v, want about 0.5", auc)
	}
}
