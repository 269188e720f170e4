package status

import (
	"strings"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/runs"
)

func TestTheLastLinesShowWhatTalkingIsWorth(t *testing.T) {
	st := Report{Name: "r", Best: 3, Spec: spec.Default(), View: "http://v/#/run/r"}
	st.Spec.Views.Kind = agents.RegionViews
	elsewhere := runs.Where{Environment: "elsewhere"}
	for system, rate := range map[string]float64{
		"base-1": 0.01, "base-4-silent": 0.05, "base-4": 0.42, "trained-4": 0.76,
	} {
		st.Results = append(st.Results,
			runs.Result{System: system, Split: domain.SplitTestSeeds, Rate: rate},
			runs.Result{System: system, Split: domain.SplitVal, Rate: 0.99},
			runs.Result{System: system, Split: domain.SplitTestSeeds, Rate: 0.98, Where: elsewhere})
	}

	var shown strings.Builder
	if st.talkText(&shown); shown.Len() > 0 {
		t.Errorf("without speech it prints %q, want nothing", shown.String())
	}
	st.Spec.Speech = true
	st.talkText(&shown)
	last := -1
	for _, want := range []string{
		"alone      1.0 %", "one of 4 parts", "silent     5.0 %", "talking   42.0 %", "trained   76.0 %",
		"http://v/#/run/r/messages",
	} {
		at := strings.Index(shown.String(), want)
		if at <= last {
			t.Errorf("it prints\n%s\nwant %q after what precedes it", shown.String(), want)
		}
		last = at
	}
	if strings.Contains(shown.String(), "9") {
		t.Errorf("it prints\n%s\nwant only figures of test-seeds in the run's own environment", shown.String())
	}
}
