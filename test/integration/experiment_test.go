//go:build integration

package integration

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/collabui/collabui/internal/records/experiments"
)

// comparison is an experiment on the specification of this package, with smaller figures.
const comparison = `name: losses
about: whether the loss matters
specification: kill.yaml
seeds: 2
episodes: {test-seeds: 6}
arms:
  - {name: dpo}
  - {name: rft, set: {preference: rft}}
contrasts:
  - {of: dpo/trained, minus: rft/trained, split: test-seeds, primary: true}
  - {of: dpo/trained, minus: dpo/base-plain, split: test-seeds}
  - {of: dpo/expert, minus: dpo/trained-shuffled, split: test-seeds}
`

// newExperiment returns a machine with the file of an experiment.
func newExperiment(t *testing.T) (m *machine, file string) {
	t.Helper()
	m = newMachine(t, strings.Replace(specification, "epochs: 2", "epochs: 1", 1))

	return m, m.write("losses.yaml", comparison)
}

// table returns the result of an experiment that has ended.
func (m *machine) table(file string) experiments.Result {
	m.t.Helper()
	out := strings.TrimSpace(m.must("experiment", file, "--json"))
	var r experiments.Result
	if err := json.Unmarshal([]byte(out[strings.LastIndexByte(out, '\n')+1:]), &r); err != nil {
		m.t.Fatalf("experiment --json printed %s: %v, want a result", out, err)
	}

	return r
}

// TestAnExperimentFromTheCommandLine plays an experiment with two arms and prints its table.
func TestAnExperimentFromTheCommandLine(t *testing.T) {
	t.Parallel()
	m, file := newExperiment(t)
	m.says([]string{"2 seeds; episodes per system and seed: test-seeds 6", "arm rft", "preference=rft"},
		"experiment", file, "--check")
	m.refuses("expected", "experiment", m.write("bad.yaml", strings.Replace(comparison, "seeds: 2", "seeds: 1", 1)))
	out := m.must("experiment", file, "--csv", m.file("episodes.csv"))
	m.contains(out, nil, []string{
		"0 of 4 arms are played, next is dpo of seed 1\n", "3 of 4 arms are played, next is rft of seed 2, about",
		"left\n",
		"dpo/trained − rft/trained on test-seeds", "primary", "dpo/expert on test-seeds: pass^1", "100.0",
	}, []string{"experiment"})
	csv, err := os.ReadFile(m.file("episodes.csv"))
	if n := strings.Count(string(csv), "\n"); err != nil || n != 1+2*6*5 {
		t.Errorf("the table of episodes has %d lines, %v, want one and 6 for each of 5 systems and 2 seeds", n, err)
	}
	if r := m.table(file); len(r.Rows) != 3 || len(r.Systems) != 2 {
		t.Errorf("the result is %+v, want a row for each of 3 contrasts, over 2 seeds", r)
	}
	if out, err := m.try("fsck"); err != nil {
		t.Errorf("fsck: %v, want no finding\n%s", err, out)
	}
}
