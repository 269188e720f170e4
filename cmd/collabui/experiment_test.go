package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/collabui/collabui/internal/method/design"
)

func TestCheckSaysWhatAnExperimentPlays(t *testing.T) {
	var out bytes.Buffer
	a := &app{out: &out}
	err := a.runExperiment(t.Context(), experimentOptions{check: true}, "../../examples/experiments/ablations.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"6 seeds; episodes per system and seed: test-seeds 250, test-templates 250",
		"arm e15            critic.error=0.15", "plays trained-shuffled on test-seeds",
		"contrast full/trained − full/base on test-seeds, primary, claims gain 3, power 98 %",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("--check prints\n%s\nwant %q in it", out.String(), want)
		}
	}
}

func TestARowSaysWhatAScepticMustKnow(t *testing.T) {
	r := design.Row{
		Contrast: design.Contrast{Of: "a/trained", Minus: "a/base", Split: "val", Primary: true},
		Mean:     2, Low: -1, High: 5, Needs: "gains at least 3 points", Late: true,
	}
	for _, split := range []string{"val", "miniwob.val"} {
		if got := chosen(split); got == "" {
			t.Errorf("a result on %s is not marked, want val marked wherever it is", split)
		}
	}
	for _, want := range []string{
		"+2.0", "[t -1.0, +5.0]", "primary", "DECLARED WHEN RESULTS WERE KNOWN", "val chose", "FAILS: gains",
	} {
		if got := tableRow(r, 30); !strings.Contains(got, want) {
			t.Errorf("the row is %q, want %q in it", got, want)
		}
	}
}
