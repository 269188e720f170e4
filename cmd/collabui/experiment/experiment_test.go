package experiment

import (
	"bytes"
	"strings"
	"testing"

	"github.com/collabui/collabui/cmd/collabui/app"
	"github.com/collabui/collabui/internal/experiment"
)

func TestCheckSaysWhatAnExperimentPlays(t *testing.T) {
	var out bytes.Buffer
	a := &app.App{Out: &out}
	err := runExperiment(t.Context(), a, experimentOptions{check: true}, "../../../examples/experiments/ablations.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"6 seeds; episodes per system and seed: test-seeds 250, test-templates 250",
		"arm e15            critic.error=0.15", "plays trained-shuffled on test-seeds",
		"in all 36 runs and 31500 episodes of evaluation",
		"contrast full/trained − full/base on test-seeds, primary, claims gain 3, power 98 %",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("--check prints\n%s\nwant %q in it", out.String(), want)
		}
	}
}

func TestBuiltInExperimentsArePossible(t *testing.T) {
	for _, name := range builtIn() {
		x, err := experimentOptions{seeds: 3}.load(name)
		if err != nil || x.Seeds != 3 || x.Name != name {
			t.Errorf("%s is %s with %d seeds, %v, want its own name and 3 seeds", name, x.Name, x.Seeds, err)
		}
	}

	if _, err := (experimentOptions{seeds: 1}).load("quickstart"); err == nil {
		t.Error("an experiment with one seed is accepted, want at least 2")
	}
	if _, err := (experimentOptions{}).load("quickstrt"); err == nil || !strings.Contains(err.Error(), "quickstart") {
		t.Errorf("an unknown experiment = %v, want an error that names what is built in", err)
	}
}

func TestARowSaysWhatAScepticMustKnow(t *testing.T) {
	r := experiment.Row{
		Contrast: experiment.Contrast{Of: "a/trained", Minus: "a/base", Split: "val", Primary: true},
		Mean:     2, Low: -1, High: 5, Needs: "gains at least 3 points", Late: true,
	}
	for _, split := range []string{"val", "miniwob.val"} {
		if got := valNote(split); got == "" {
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
