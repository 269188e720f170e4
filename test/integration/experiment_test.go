//go:build integration

package integration

import (
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/collabui/collabui/internal/store/experiments"
	"github.com/collabui/collabui/internal/store/runs"
)

// comparison is an experiment on the specification of this package, with everything smaller.
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

// newExperiment makes a machine with the file of an experiment.
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

// figuresOf returns all of a result but its costs, which count calls that a kill repeats.
func figuresOf(r experiments.Result) experiments.Result {
	for _, seed := range r.Systems {
		for key, system := range seed {
			system.Cost = runs.Cost{}
			seed[key] = system
		}
	}

	return r
}

// TestAnExperimentThatIsKilledHasTheSameTable plays an experiment from the command line, once undisturbed, and once
// killed in the middle of its second arm.
func TestAnExperimentThatIsKilledHasTheSameTable(t *testing.T) {
	t.Parallel()
	m, file := newExperiment(t)
	m.says([]string{"2 seeds; episodes per system and seed: test-seeds 6", "arm rft", "preference=rft"},
		"experiment", file, "--check")
	out := m.must("experiment", file, "--csv", m.file("episodes.csv"))
	m.contains(out, nil, []string{
		"1 of 4 arms are played, the last was dpo of seed 1, about", "left\n", "3 of 4 arms are played",
		"dpo/trained − rft/trained on test-seeds", "primary", "dpo/expert on test-seeds: pass^1", "100.0",
	}, []string{"experiment"})
	csv, err := os.ReadFile(m.file("episodes.csv"))
	if n := strings.Count(string(csv), "\n"); err != nil || n != 1+2*6*5 {
		t.Errorf("the table of episodes has %d lines, %v, want one and 6 for each of 5 systems and 2 seeds", n, err)
	}
	want := m.table(file)
	m.must("down")

	m, file = newExperiment(t)
	m.must("experiment", file, "--detach")
	m.eventually("the second arm rolls out", 3*time.Minute, func() bool {
		return m.count("losses-rft-s1/epochs/0001/agents") > 0
	})
	m.kill("supervisor", m.supervisorPID())
	m.eventually("all its processes end", 20*time.Second, func() bool { return len(m.alive()) == 0 })
	m.must("experiment", file)
	if got := m.table(file); !reflect.DeepEqual(figuresOf(got), figuresOf(want)) {
		t.Errorf("the result is %+v, want that of the undisturbed experiment, %+v", figuresOf(got), figuresOf(want))
	}
	if out, err := m.try("fsck"); err != nil {
		t.Errorf("fsck: %v, want no finding\n%s", err, out)
	}
}
