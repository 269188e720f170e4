//go:build integration

package integration

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// withModels has every training-time role but the UI agent by a chat model.
const withModels = `name: kill
epochs: 1
slots: 10
rounds: 2
models: {m: {base_url: %s/v1, model: m-1, price: {prompt: 1, answer: 2}}}
critic: {model: m}
adversary: {model: m}
summariser: {model: m}
synthesis: {author: m, screens: 15, questions: 3, instructions: 3, pairs: 25, screenshots: true}
finetune: {levels: [1, 2, 3], demonstrations: 20, steps: {level1: 10, level2: 20, level3: 20, preference: 5}}
pairs: {kind: +correction, min_pairs: 4}
train: {batch_size: 4, passes: 2}
evaluation: {val: 6, test_seeds: 0, test_templates: 0}
`

// chat answers as a function of what it is asked, and counts.
type chat struct {
	mu    sync.Mutex
	asked map[string]int
}

var (
	elementLine = regexp.MustCompile(`(?m)^\| (\d+) [a-z]+ ([^\n]*)$`)
	cellLine    = regexp.MustCompile(`(?m)^(\d+\.\d+)\n\| [^\n]*Action: (\{[^\n]*\})$`)
)

func (c *chat) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	raw, _ := io.ReadAll(r.Body)
	c.mu.Lock()
	c.asked[string(raw)]++
	c.mu.Unlock()
	var q struct {
		Messages []struct{ Content string }
	}
	if err := json.Unmarshal(raw, &q); err != nil {
		w.WriteHeader(400)
		return
	}
	time.Sleep(20 * time.Millisecond) // so that a kill finds calls in flight
	sys, user := q.Messages[0].Content, q.Messages[1].Content
	screen, _, _ := strings.Cut(user[strings.Index(user, "Screen"):], "\nProposals:")
	var items []string
	for i, m := range elementLine.FindAllStringSubmatch(screen, 4) {
		switch {
		case strings.Contains(sys, "write questions"):
			items = append(items, fmt.Sprintf(`{"kind":"function","question":"Which element is number %d","answer":"","element":%s}`, i, m[1]))
		case strings.Contains(sys, "one-step instructions"):
			items = append(items, fmt.Sprintf(`{"instruction":"Tap element %d","reason":"r","action":{"action_type":"click","index":%s}}`, i, m[1]))
		default:
			items = append(items, fmt.Sprintf(`{"reason":"r","action":{"action_type":"click","index":%s}}`, m[1]))
		}
	}
	text := `{"items":[` + strings.Join(items, ",") + `]}`
	switch {
	case strings.Contains(sys, "making mistakes"):
		text = `{"answers":[` + strings.Join(items, ",") + `]}`
	case strings.Contains(sys, "keep the history"):
		text = "something was done"
	case strings.Contains(sys, "strict critic"):
		items = nil
		for _, m := range cellLine.FindAllStringSubmatch(user, -1) {
			h := fnv.New32a()
			_, _ = h.Write([]byte(m[2]))
			items = append(items, fmt.Sprintf(`{"cell":%q,"reason":"r","score":%d}`, m[1], h.Sum32()>>7&1))
		}
		text = `{"grades":[` + strings.Join(items, ",") + `]}`
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"choices": []any{map[string]any{"message": map[string]string{"role": "assistant", "content": text}}}, "usage": map[string]int{"prompt_tokens": len(raw) / 4, "completion_tokens": len(text) / 4}})
}

// TestKillWithModels kills the worker while chat models write data, grade and mislead: the run ends with the digest of an unbroken one, and no more calls are made again than were in
// flight. Then the commands around data are tried on it.
func TestKillWithModels(t *testing.T) {
	const atOnce = 4 + 5 // activities of a worker that ask chat endpoints: model slots, and episodes with their summaries
	var whole shown
	for _, kills := range []int{0, 3} {
		c := &chat{asked: map[string]int{}}
		srv := httptest.NewServer(c)
		defer srv.Close()
		m := newMachine(t)
		if err := os.WriteFile(m.spec, []byte(fmt.Sprintf(withModels, srv.URL)), 0o644); err != nil {
			t.Fatal(err)
		}
		if kills == 0 {
			out := m.must("finetune", m.spec)
			if !strings.Contains(out, "level 3:") || !strings.Contains(out, "base policy ") || !strings.Contains(out, "written by   m (m-1)") {
				t.Errorf("finetune says:\n%s", out)
			}
			m.must("train", m.spec)
			whole = m.settle()
		} else {
			m.must("train", m.spec, "--detach")
			for i, part := range []string{"items-1", "items-3", "credit.json"} {
				m.eventually(part+" are written", 2*time.Minute, func() bool { return m.count(part) > 2 })
				before := m.service("worker").PID
				m.kill("worker", before)
				m.eventually("the worker is back", time.Minute, func() bool { return m.service("worker").PID != before && m.service("worker").Restarts > i })
			}
			if s := m.settle(); s.FinalDigest != whole.FinalDigest {
				t.Errorf("final digest %s, unbroken %s", s.FinalDigest, whole.FinalDigest)
			}
		}
		again, all := 0, 0
		for _, n := range c.asked {
			all, again = all+n, again+n-1
		}
		recorded := m.count("/calls/")
		t.Logf("%d kills: %d calls, %d recorded, %d made again", kills, all, recorded, again)
		if again > kills*atOnce || recorded != len(c.asked) {
			t.Errorf("%d calls for %d different ones, %d recorded, with %d kills", all, len(c.asked), recorded, kills)
		}
		if kills == 0 {
			m.dataCommands() // some of them ask, too
		}
		m.must("down")
	}
}

// dataCommands tries data, export, import, credit check and plan.
func (m *machine) dataCommands() {
	m.t.Helper()
	if out := m.must("data", "kill"); !strings.Contains(out, "level 2:") || !strings.Contains(out, "dropped") {
		m.t.Errorf("data says:\n%s", out)
	}
	dir := m.file("export")
	m.must("export", "kill", "--out", dir, "--sample", "20")
	if out, err := m.try("export", "kill", "--out", dir); err == nil || !strings.Contains(out, "is not empty") {
		m.t.Errorf("a second export: %v %s", err, out)
	}
	images, _ := filepath.Glob(filepath.Join(dir, "images", "*.png"))
	sheet, err := os.ReadFile(filepath.Join(dir, "sample.html"))
	if err != nil || len(images) == 0 || strings.Count(string(sheet), "<tr>") != 21 {
		m.t.Errorf("%d images, sheet of %d rows, %v", len(images), strings.Count(string(sheet), "<tr>")-1, err)
	}
	if out := m.must("import", filepath.Join(dir, "level2.preference.jsonl"), "--json"); !strings.Contains(out, `"digest":"`) || !strings.Contains(out, `"kind":"rows"`) {
		m.t.Errorf("import says %s", out)
	}
	if out, err := m.try("import", m.spec); err == nil || !strings.Contains(out, "kill.yaml:1: not a JSON object") {
		m.t.Errorf("import of a specification: %v %s", err, out)
	}
	if out := m.must("credit", "check", "kill", "--repeat", "3"); !strings.Contains(out, "asked again about 3 steps") || !strings.Contains(out, "100.0 % labelled alike") {
		m.t.Errorf("credit check says:\n%s", out)
	}
	out := m.must("plan", m.spec, "--episodes", "3")
	for _, want := range []string{"critic", "adversary", "summariser", "author of level 1", "author of level 2", "rollouts, credit, pairing", "updates", "in all"} {
		if !strings.Contains(out, want) {
			m.t.Errorf("plan lacks %q:\n%s", want, out)
		}
	}
	m.t.Log(out)
}
