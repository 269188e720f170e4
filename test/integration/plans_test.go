//go:build integration

package integration

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/experiment/pilot"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/policy/tinylm"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/test/kit/fakephone"
)

// TestExperimentsOfALanguageModelAreCheckedAndPlanned runs `experiment --check` on every file of
// examples/experiments/7b, and `plan` on their specifications. Only the addresses and the model's folder in the files
// change: stand-ins replace GPUs, vLLM, LLaMA-Factory, emulators and the chat model.
func TestExperimentsOfALanguageModelAreCheckedAndPlanned(t *testing.T) {
	t.Parallel()
	c := startCluster(t, "0", "OPENAI_API_KEY=canary")
	c.practise()
	dir := c.examples()
	files, _ := filepath.Glob(filepath.Join(dir, "experiments", "7b", "*.yaml"))
	if len(files) < 8 {
		t.Fatalf("got the files %v, want one for every table", files)
	}
	for _, file := range files {
		text := c.must("experiment", file, "--check")
		if strings.Contains(text, ", primary") && !strings.Contains(text, ", power ") {
			t.Errorf("experiment %s --check says\n%s\nwant the power of the primary contrast", file, text)
		}
	}
	c.plans(filepath.Join(dir, "llamafactory.yaml"), "qwen2", false)
	c.plans(filepath.Join(dir, "paper.yaml"), "paper", true)
}

// plans plans the run of a specification, whose models may have prices.
func (c *cluster) plans(file, run string, priced bool) {
	c.t.Helper()
	out := c.pilot(file)
	var plan struct{ Estimate []pilot.Line }
	if err := json.Unmarshal([]byte(out[strings.LastIndex(out, "\n{")+1:]), &plan); err != nil {
		c.t.Fatalf("plan %s --json printed %s: %v, want an estimate", file, out, err)
	}
	if !c.trained(run + "-pilot") {
		c.t.Errorf("no update of the pilot of %s made optimiser steps, want some", run)
	}
	for _, name := range []string{"updates", "in all"} {
		i := slices.IndexFunc(plan.Estimate, func(l pilot.Line) bool { return l.Name == name })
		if i < 0 || plan.Estimate[i].Hours <= 0 {
			c.t.Errorf("the plan of %s is %+v, want hours of %s", run, plan.Estimate, name)
		}
	}
	if all := plan.Estimate[len(plan.Estimate)-1]; all.Money > 0 != priced {
		c.t.Errorf("the plan of %s takes money %v, want some only where models have prices", run, all.Money)
	}
	if n := c.count("runs/" + run + "/"); n > 0 {
		c.t.Errorf("the plan left %d objects of the run %s, want none", n, run)
	}
}

// pilotLimit is much longer than a pilot takes. A pilot that fails pauses, and its command waits.
const pilotLimit = 15 * time.Minute

// pilot plans the run of a specification and returns what the command printed.
func (c *cluster) pilot(file string) (out string) {
	c.t.Helper()
	ended := make(chan error, 1)
	go func() {
		var err error
		out, err = c.try("plan", file, "--episodes", "3", "--json")
		ended <- err
	}()
	select {
	case err := <-ended:
		if err != nil {
			c.t.Fatalf("plan %s: %v, want success\n%s", file, err, out)
		}
	case <-time.After(pilotLimit):
		c.t.Fatalf("plan %s goes on after %v, want its end", file, pilotLimit)
	}

	return out
}

// trained reports whether an update of a run whose name begins with name made optimiser steps.
func (c *cluster) trained(name string) bool {
	for _, file := range c.objects(name) {
		if !strings.HasSuffix(file, "/update.json") {
			continue
		}
		raw, err := os.ReadFile(file)
		if err != nil {
			c.t.Fatal(err)
		}
		body, err := store.Unseal(file, raw)
		var u runs.Update
		if err == nil {
			err = json.Unmarshal(body, &u)
		}
		if err != nil {
			c.t.Fatal(err)
		}
		if u.Steps > 0 {
			return true
		}
	}

	return false
}

// practise trains the base model until about half of its answers tap the element that a goal names. All answers of
// random weights are wrong, so there would be no pairs.
func (c *cluster) practise() {
	c.t.Helper()
	file := filepath.Join(c.base, "model.safetensors")
	raw, err := os.ReadFile(file)
	if err != nil {
		c.t.Fatal(err)
	}
	m, err := tinylm.Decode(raw)
	if err != nil {
		c.t.Fatal(err)
	}
	rng := domain.Rand(1, "practice")
	tr := &tinylm.Trainer{M: m, Workers: 2}
	const size = 16
	for range 30 {
		var batch []tinylm.Example
		var weights []float64
		for range size {
			v, action := screenOf(rng)
			text, err := agents.Default.User(v, "", nil)
			if err != nil {
				c.t.Fatal(err)
			}
			p := tinylm.ParsePrompt(text)
			rendered, err := tinylm.Render(action)
			if err != nil {
				c.t.Fatal(err)
			}
			choice, err := p.Parse(rendered)
			if err != nil {
				c.t.Fatal(err)
			}
			batch = append(batch, tinylm.Example{Prompt: p, Answers: []tinylm.Choice{choice}})
			weights = append(weights, 1)
		}
		tr.SFTStep(batch, weights, 2e-3)
	}
	if err := os.WriteFile(file, m.Encode(), 0o644); err != nil {
		c.t.Fatal(err)
	}
}

// screenOf returns a random screen with a goal that names one of its elements, and an answer: half of the answers tap
// that element, and the others tap any element or end the task.
func screenOf(rng *rand.Rand) (agents.View, domain.Action) {
	var v agents.View
	for i := range 8 {
		v.Observation.Elements = append(v.Observation.Elements, domain.Element{
			Index: i, Role: []string{"button", "link", "item"}[rng.IntN(3)], Visible: true,
			Text: fmt.Sprintf("w%d", rng.IntN(1000)),
		})
	}
	at := rng.IntN(len(v.Observation.Elements))
	v.Goal = "Tap " + v.Observation.Elements[at].Text

	switch rng.IntN(4) {
	case 0:
		return v, domain.Action{Type: domain.ActionStatus, GoalStatus: domain.StatusComplete}
	case 1:
		at = rng.IntN(len(v.Observation.Elements))
	}

	return v, domain.Action{Type: domain.ActionClick}.At(at)
}

// examples copies the folder examples, with the addresses of stand-ins, and returns the copy's path.
func (c *cluster) examples() string {
	c.t.Helper()
	dir := c.file("examples")
	if err := os.CopyFS(dir, os.DirFS("../../examples")); err != nil {
		c.t.Fatal(err)
	}
	model := httptest.NewServer(http.HandlerFunc(guide))
	c.t.Cleanup(model.Close)

	c.edit(filepath.Join(dir, "llamafactory.yaml"), "/models/Qwen2-7B-Instruct", c.base)
	c.edit(filepath.Join(dir, "paper.yaml"),
		"/models/Qwen2-7B-Instruct", c.base,
		"ws://127.0.0.1:8001/ws", c.phone(1),
		"ws://127.0.0.1:8002/ws", c.phone(2),
		"https://api.openai.com", model.URL)

	return dir
}

// edit replaces texts, each of which must occur once. pairs contains each text and its replacement.
func (c *cluster) edit(file string, pairs ...string) {
	c.t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		c.t.Fatal(err)
	}
	for i := 0; i < len(pairs); i += 2 {
		if n := strings.Count(string(raw), pairs[i]); n != 1 {
			c.t.Fatalf("%s has %q %d times, want it once", file, pairs[i], n)
		}
	}
	if err := os.WriteFile(file, []byte(strings.NewReplacer(pairs...).Replace(string(raw))), 0o644); err != nil {
		c.t.Fatal(err)
	}
}

// phone starts a companion with the tasks of AndroidWorld, and returns its address.
func (c *cluster) phone(seed uint64) string {
	c.t.Helper()
	raw, err := os.ReadFile("../../envadapters/androidworld/tasks.json")
	if err != nil {
		c.t.Fatal(err)
	}
	var known []struct {
		Name, Group string
		Steps       int `json:"max_steps"`
	}
	if err := json.Unmarshal(raw, &known); err != nil {
		c.t.Fatal(err)
	}
	var tasks []fakephone.Task
	for _, k := range known {
		tasks = append(tasks, fakephone.Task{Name: k.Name, Group: k.Group, Steps: k.Steps, Taps: 2})
	}
	p, err := fakephone.New(tasks, fakephone.Faults{}, seed)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(p.Close)

	return p.URL()
}

var (
	goalLine = regexp.MustCompile(`(?m)^(?:Goal|Request|Task): (.*)$`)
	pastLine = regexp.MustCompile(`(?m)^\d+ (?:click|status|wait)`)
	nameLine = regexp.MustCompile(`(?m)^(\d+) button (\S+)`)
)

// guide is a chat endpoint that plays every role, including an agent on a fake phone.
func guide(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Messages []struct{ Content json.RawMessage }
	}
	if err := json.NewDecoder(r.Body).Decode(&q); err != nil || len(q.Messages) == 0 {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	system, user := textOf(q.Messages[0].Content), textOf(q.Messages[len(q.Messages)-1].Content)
	var text string
	switch {
	case strings.HasPrefix(system, "You operate a"):
		text = next(user)
	default:
		text = answer(system, user)
	}

	_ = json.NewEncoder(w).Encode(map[string]any{
		"choices": []any{map[string]any{"message": map[string]string{"role": "assistant", "content": text}}},
		"usage":   map[string]int{"prompt_tokens": 100, "completion_tokens": 10},
	})
}

// next taps the buttons that the goal names, one after the other, and then declares that it is done.
func next(user string) string {
	past, screen, _ := strings.Cut(user, "\nScreen:\n")
	done := len(pastLine.FindAllString(past, -1))
	action := `{"action_type":"status","goal_status":"complete"}`
	if goal := goalLine.FindStringSubmatch(user); len(goal) > 1 {
		if taps := strings.Fields(goal[1])[1:]; done < len(taps) {
			for _, m := range nameLine.FindAllStringSubmatch(screen, -1) {
				if m[2] == taps[done] {
					action = fmt.Sprintf(`{"action_type":"click","index":%s}`, m[1])
				}
			}
		}
	}

	return "Reason: the goal names it\nAction: " + action
}

// textOf returns the text of a message, whose content is a text or a list of parts.
func textOf(content json.RawMessage) (text string) {
	if json.Unmarshal(content, &text) == nil {
		return text
	}
	var parts []struct{ Text string }
	_ = json.Unmarshal(content, &parts) // otherwise there is no text
	for _, p := range parts {
		text += p.Text
	}

	return text
}
