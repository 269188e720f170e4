package status

import (
	"bytes"
	"strings"
	"testing"

	"github.com/collabui/collabui/internal/method/spec"
)

func TestWhyStage1HasNoDataCardsIsTrue(t *testing.T) {
	for want, of := range map[string]spec.FineTune{
		"no level of stage 1 has its data yet": {Levels: []int{1, 2}},
		"stage 1 trains nothing":               {Base: "model"},
		"SFT on expert demonstrations":         {},
	} {
		var out bytes.Buffer
		stage1{of: of}.text(&out)
		if !strings.Contains(out.String(), want) {
			t.Errorf("of %+v it says %q, want %q", of, out.String(), want)
		}
	}
}
