//go:build integration

package integration

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/collabui/collabui/internal/experiment/pilot"
)

// withModels assigns every training-time role except the UI agent to a chat model.
const withModels = `name: kill
epochs: 1
slots: 10
rounds: 2
models:
  m:
    base_url: %s/v1
    model: m-1
    price: {prompt: 1, answer: 2}
    key: CANARY_API_KEY
    headers: {X-Team: $CANARY_TEAM_API_KEY}
critic: {model: m}
adversary: {model: m}
summariser: {model: m}
synthesis: {author: m, screens: 15, questions: 3, instructions: 3, pairs: 25, screenshots: true}
finetune: {levels: [1, 2, 3], demonstrations: 20, steps: {level1: 10, level2: 20, level3: 20, preference: 5}}
pairs: {kind: +correction, min_pairs: 4}
train: {batch_size: 4, passes: 2}
evaluation: {val: 6, test_seeds: 0, test_templates: 0, test_apps: 0}
`

// TestKillWithModels kills the worker while chat models write data, grade and mislead. The run ends with the digest of
// an unbroken one, and no more calls are repeated than were in flight. The unbroken run then serves to test the
// commands around data.
func TestKillWithModels(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	digests := map[string]string{}
	keep := func(name string, s shown) {
		mu.Lock()
		defer mu.Unlock()
		digests[name] = s.FinalDigest
	}

	t.Cleanup(func() { allEqual(t, digests) })
	t.Run("unbroken", func(t *testing.T) {
		t.Parallel()
		m, c := newModels(t)
		m.says([]string{"level 3:", "base policy ", "written by   m (m-1)"}, "train", m.spec, "--until", "stage-1")
		m.must("train", m.spec)
		keep("unbroken", m.settle())
		m.calledAgain(c, 0)
		m.dataCommands() // some of them make calls, too
		m.keepsSecrets(c)
	})
	t.Run("killed three times", func(t *testing.T) {
		t.Parallel()
		m, c := newModels(t)
		m.must("train", m.spec, "--detach")
		parts := []string{"items-1", "items-3", "credit.json"}
		for i, part := range parts {
			m.eventually(part+" are written", 2*time.Minute, func() bool { return m.count(part) > 2 })
			before := m.service("worker").PID
			m.kill("worker", before)
			m.eventually("the worker is back", time.Minute, func() bool {
				s := m.service("worker")

				return s.PID != before && s.Restarts > i
			})
		}
		keep("killed", m.settle())
		m.calledAgain(c, len(parts))
	})
}

// newModels returns a machine whose specification names a chat endpoint, and the endpoint.
func newModels(t *testing.T) (*machine, *chat) {
	t.Helper()
	c := &chat{asked: map[string]int{}, keys: map[string]int{}}
	srv := httptest.NewServer(c)
	t.Cleanup(srv.Close)

	m := newMachine(t, fmt.Sprintf(withModels, srv.URL))
	m.env = append(m.env, canaries...)

	return m, c
}

// calledAgain checks that all calls are recorded, and that no more were repeated than the kills interrupted.
func (m *machine) calledAgain(c *chat, kills int) {
	const concurrent = 4 + 5 // activities that call chat endpoints: model slots, and episodes with their summaries
	m.t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	again, all := 0, 0
	for _, n := range c.asked {
		all, again = all+n, again+n-1
	}

	recorded := m.count("/calls/")
	m.t.Logf("%d kills: %d calls, %d recorded, %d made again", kills, all, recorded, again)
	if again > kills*concurrent {
		m.t.Errorf("%d of %d calls were made again with %d kills, want at most %d", again, all, kills, kills*concurrent)
	}

	if recorded != len(c.asked) {
		m.t.Errorf("%d calls are recorded, want all %d different ones", recorded, len(c.asked))
	}
}

// dataCommands tries the data cards, the critic, export, import and plan.
func (m *machine) dataCommands() {
	m.t.Helper()
	m.says([]string{"level 2:", "dropped"}, "show", "kill", "stage-1")
	m.exported()
	m.says([]string{"agreement", "calibration"}, "show", "kill", "critic")
	m.says([]string{
		"critic", "adversary", "summariser", "stage 1, questions", "stage 1, instructions",
		"rollouts, credit, pairing", "updates", "in all",
	}, "plan", m.spec, "--episodes", "3")
	m.planned("--episodes", "3")
}

// planned checks that the estimate of a plan is within its factor of the cost of the run, which has ended. Hours depend
// on the other load of the machine.
func (m *machine) planned(flags ...string) {
	m.t.Helper()
	var plan struct{ Estimate, Took []pilot.Line }
	raw := m.must(append([]string{"plan", m.spec, "--json"}, flags...)...)
	if err := json.Unmarshal([]byte(raw[strings.LastIndex(raw, "\n{")+1:]), &plan); err != nil || len(plan.Took) == 0 {
		m.t.Fatalf("plan --json printed %s: %v, want an estimate and what the run took", raw, err)
	}
	estimate, took := plan.Estimate[len(plan.Estimate)-1], plan.Took[len(plan.Took)-1]
	for name, of := range map[string]struct{ estimate, took float64 }{
		"calls": {estimate.Calls, took.Calls}, "tokens": {estimate.Tokens, took.Tokens},
		"money": {estimate.Money, took.Money}, "bytes": {estimate.Bytes, took.Bytes},
	} {
		m.t.Logf("%s: %.4g estimated, %.4g taken", name, of.estimate, of.took)
		if of.estimate < of.took/pilot.Within || of.estimate > of.took*pilot.Within {
			m.t.Errorf("%s: the plan estimates %.4g, and the run took %.4g, want a factor of %d at most between them",
				name, of.estimate, of.took, pilot.Within)
		}
	}
}

// exported tries export and import.
func (m *machine) exported() {
	m.t.Helper()
	dir := m.file("export")
	m.must("export", "kill", "--out", dir)
	m.refuses("is not empty", "export", "kill", "--out", dir)

	if images, _ := filepath.Glob(filepath.Join(dir, "images", "*.png")); len(images) == 0 {
		m.t.Error("no images were exported, want some")
	}

	preferences := filepath.Join(dir, "level2.preference.jsonl")
	m.says([]string{`"digest":"`, `"kind":"rows"`}, "import", preferences, "--json")
	m.refuses("kill.yaml:1: not a JSON object", "import", m.spec)
}
