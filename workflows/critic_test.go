package workflows_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/collabui/collabui/internal/method/chat"
	"github.com/collabui/collabui/workers/catalog"

	"go.temporal.io/sdk/testsuite"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/policy/llm"
	"github.com/collabui/collabui/internal/store/runs"
	"github.com/collabui/collabui/test/kit/testrun"
	"github.com/collabui/collabui/workflows"
)

// grader is a chat server that grades the scripted environment's steps rightly, except where it misbehaves: a share of
// its calls is answered by one of the faults.
type grader struct {
	share    float64
	mu       sync.Mutex
	calls    int
	answered map[string]int // by request: answers that were whole
	faults   map[string]int
}

var (
	goalLine  = regexp.MustCompile(`Goal:\n\| Tap (.*)\n`)
	countLine = regexp.MustCompile(`\| \d+ text count (\d+)`)
	buttons   = regexp.MustCompile(`\| (\d+) button (\S+)`)
	proposals = regexp.MustCompile(`(\d+\.\d+)\n\| [^\n]*"click","index":(\d+)`)
	cellNames = regexp.MustCompile(`\d+\.\d+`)
)

// grade scores all proposals of a prompt.
func grade(user string) map[string]float64 {
	names := map[string]string{}
	for _, m := range buttons.FindAllStringSubmatch(user, -1) {
		names[m[1]] = m[2]
	}
	at, _ := strconv.Atoi(countLine.FindStringSubmatch(user)[1])
	want := strings.Split(goalLine.FindStringSubmatch(user)[1], " then ")[at]
	out := map[string]float64{}
	_, list, _ := strings.Cut(user, "Proposals:\n")
	list, asked, _ := strings.Cut(list, "Grade these")
	for _, id := range cellNames.FindAllString(asked[strings.Index(asked, ":"):], -1) {
		out[id] = 0
	}
	for _, m := range proposals.FindAllStringSubmatch(list, -1) {
		if names[m[2]] == want {
			out[m[1]] = 1
		}
	}
	return out
}

// answer is what the server says without a fault: the entries of a list under a key, or one text.
func (g *grader) answer(sys, user string) (list []string, key string) {
	element := func(prefix string) map[string]string {
		out := map[string]string{}
		for _, m := range regexp.MustCompile(`(?m)^`+prefix+`(\d+) button (\S+)`).FindAllStringSubmatch(user, -1) {
			out[m[2]] = m[1]
		}
		return out
	}
	switch {
	case strings.Contains(sys, "by making mistakes"):
		_, right, _ := strings.Cut(user, "The right action:\n")
		for i := range 6 {
			if !strings.Contains(right, fmt.Sprintf(`"index":%d`, i)) {
				list = append(list, fmt.Sprintf(`{"reason":"this element serves the goal.","action":{"action_type":"click","index":%d}}`, i))
			}
		}
		return list, "answers"
	case strings.Contains(sys, "write questions and answers"):
		for name, i := range element(`\| `) {
			list = append(list, fmt.Sprintf(`{"kind":"function","question":"Which element is %s","answer":"","element":%s}`, name, i))
		}
		list = append(list, `{"kind":"purpose","question":"What is this screen for","answer":"something that is not on it"}`)
		slices.Sort(list)
		return list, "items"
	case strings.Contains(sys, "write one-step instructions"):
		for name, i := range element(`\| `) {
			list = append(list, fmt.Sprintf(`{"instruction":"Tap %s","reason":"The goal names it.","action":{"action_type":"click","index":%s}}`, name, i))
		}
		list = append(list, `{"instruction":"A","reason":"r","action":{"action_type":"input_text","index":0,"text":"a"}}`, `{"instruction":"A","reason":"r","action":{"action_type":"click","index":77}}`)
		slices.Sort(list)
		return list, "items"
	case strings.Contains(sys, "keep the history"):
		return []string{"tapped " + regexp.MustCompile(`Action:\n\| (.*)\n`).FindStringSubmatch(user)[1]}, ""
	case strings.HasPrefix(sys, "You operate"):
		at, _ := strconv.Atoi(regexp.MustCompile(`\d+ text count (\d+)`).FindStringSubmatch(user)[1])
		want := strings.Split(regexp.MustCompile(`Goal: Tap (.*)\n`).FindStringSubmatch(user)[1], " then ")[at]
		return []string{"Reason: It is next.\nAction: {\"action_type\":\"click\",\"index\":" + element("")[want] + "}"}, ""
	}
	for id, s := range grade(user) {
		list = append(list, fmt.Sprintf(`{"cell":%q,"reason":"r","score":%v}`, id, s))
	}
	slices.Sort(list)
	return list, "grades"
}

func (g *grader) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	raw, _ := io.ReadAll(r.Body)
	var q struct {
		Messages []struct{ Content string }
	}
	if err := json.Unmarshal(raw, &q); err != nil {
		panic(err)
	}
	list, key := g.answer(q.Messages[0].Content, q.Messages[1].Content)
	if n := len(q.Messages); n > 2 { // a repair: only what is asked for again
		_, missing, _ := strings.Cut(q.Messages[n-1].Content, "these cells:")
		list = slices.DeleteFunc(list, func(x string) bool {
			return !strings.Contains(missing+" ", " "+cellNames.FindString(x)+" ")
		})
	}
	g.mu.Lock()
	g.calls++
	kind := ""
	if rng := domain.Rand(99, "fault", g.calls); rng.Float64() < g.share {
		kind = []string{"429", "500", "body", "hang", "shape", "NaN", "missing"}[rng.IntN(7)]
		g.faults[kind]++
	}
	g.mu.Unlock()
	content := `{"` + key + `":[` + strings.Join(list, ",") + `]}`
	if key == "" {
		content = list[0]
	}
	switch kind {
	case "429":
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(429)
		return
	case "500":
		w.WriteHeader(500)
		return
	case "hang":
		<-r.Context().Done()
		return
	case "shape":
		content = `{"` + key + `":{"all":1}}`
		if key == "" {
			content = "I would rather not."
		}
	case "NaN":
		content = strings.ReplaceAll(content, `"score":1`, `"score":NaN`)
	case "missing":
		if key == "" {
			content = content[:len(content)/2]
			break
		}
		content = `{"` + key + `":[` + strings.Join(list[:len(list)/2], ",") + `]}`
	}
	body, _ := json.Marshal(map[string]any{"choices": []any{map[string]any{"message": map[string]string{"role": "assistant", "content": content}}}, "usage": map[string]int{"prompt_tokens": len(raw) / 4, "completion_tokens": len(content) / 4}})
	if kind == "body" {
		body = body[:len(body)/2]
	}
	if _, err := w.Write(body); err == nil && kind != "body" && r.Context().Err() == nil { // one who gave up waiting has no answer
		g.mu.Lock()
		g.answered[string(raw)]++
		g.mu.Unlock()
	}
}

// graded plays a run whose critic is the grader.
func graded(t *testing.T, epochs int, share float64) (*testrun.Run, *grader, runs.End) {
	t.Helper()
	r, g := withGrader(t, epochs, share, spec.Budget{})
	end, err := r.Play(t, nil)
	if err != nil {
		t.Fatal(err)
	}
	clean(t, r)
	return r, g, end
}

// short is a run of which only training is played.
func short(epochs int) spec.Spec {
	s := testrun.Small()
	s.Epochs, s.FineTune.MaxChunks, s.Evaluation.Val, s.Evaluation.TestSeeds, s.Evaluation.TestTemplates = epochs, 2, 4, 0, 0
	return s
}

func withGrader(t *testing.T, epochs int, share float64, budget spec.Budget) (*testrun.Run, *grader) {
	t.Helper()
	g := &grader{share: share, answered: map[string]int{}, faults: map[string]int{}}
	srv := httptest.NewServer(g)
	t.Cleanup(srv.Close)
	s := short(epochs)
	m := spec.DefaultModel()
	m.BaseURL, m.Model = srv.URL+"/v1", "grader-1"
	m.Price = spec.Price{Prompt: 1, Answer: 2}
	s.Models, s.Critic.Model, s.Budget = map[spec.Role]spec.Model{"judge": m}, "judge", budget
	if err := s.Validate(catalog.All{}); err != nil {
		t.Fatal(err)
	}
	r := testrun.New(t, s)
	r.Deps.Endpoint = func(m spec.Model) (chat.Model, error) {
		return llm.New(llm.Config{BaseURL: m.BaseURL, Model: m.Model, Timeout: 600 * time.Millisecond, Schema: string(m.Schema), Seeds: true})
	}
	return r, g
}

func TestAnAdversaryThatIsAModelGivesTheRejectedAnswers(t *testing.T) {
	t.Parallel()
	var clear int
	for _, share := range []float64{0, 0.3} {
		r, g := withGrader(t, 1, share, spec.Budget{})
		r.Spec.Adversary.Model = "judge"
		again := testrun.New(t, r.Spec)
		again.Deps.Endpoint = r.Deps.Endpoint
		if _, err := again.Play(t, nil); err != nil {
			t.Fatal(err)
		}
		clean(t, again)
		sources, blind, agree := map[domain.Source]int{}, 0, 0
		for slot := 1; slot <= r.Spec.Slots; slot++ {
			p, _, err := runs.Run("small").Pairs(1, slot).Read(t.Context(), again.Bucket)
			if err != nil {
				t.Fatal(err)
			}
			for _, x := range p.Pairs {
				sources[x.Source]++
			}
			for _, a := range p.Audit {
				blind, agree = blind+a.Blinded, agree+a.Again
			}
			for _, c := range p.Calls {
				if c.Model != "grader-1" {
					t.Fatalf("%+v", c)
				}
			}
		}
		if sources[domain.SourceAdversary] < 20 || blind == 0 || share == 0 && agree != blind {
			t.Errorf("pairs by source %v; %d of %d blinded positives were called right again", sources, agree, blind)
		}
		if share == 0 {
			clear = g.calls
		} else if float64(g.calls) > 1.6*float64(clear) {
			t.Errorf("%d calls where the clean run made %d", g.calls, clear)
		}
		for q, n := range g.answered {
			if n > 1 {
				t.Errorf("a recorded call was made %d times: %s", n, q)
			}
		}
		t.Logf("share %.1f: %d calls, pairs by source %v", share, g.calls, sources)
	}
}

func TestABudgetThatIsSpentPausesTheRunUntilAPersonRaisesIt(t *testing.T) {
	t.Parallel()
	free, all, want := graded(t, 1, 0)
	spent, err := runs.Run("small").Spent(t.Context(), free.Bucket)
	if err != nil || spent.Calls != all.calls || spent.Tokens < 1000 || spent.Money <= float64(spent.Tokens)/1e6 {
		t.Fatal(spent, err)
	}
	for name, budget := range map[string]spec.Budget{"budget.tokens": {Tokens: spent.Tokens / 2}, "budget.money": {Money: spent.Money / 2}} {
		r, g := withGrader(t, 1, 0, budget)
		paused := 0
		end, err := r.Play(t, func(env *testsuite.TestWorkflowEnvironment) {
			env.RegisterDelayedCallback(func() {
				st := status(t, env)
				if !st.Held {
					return // another of the workflows that continue one another
				}
				paused++
				part, err := runs.Run("small").Spent(t.Context(), r.Bucket)
				if err != nil || !strings.Contains(st.Reason, name) || !strings.Contains(st.Reason, "collabui set small "+name) || part.Tokens < spent.Tokens/2-200 || part.Tokens > spent.Tokens/2+6000 {
					t.Errorf("%s: %+v, %+v, %v", name, st, part, err)
				}
				change := runs.Change{Who: "ann", Why: "one more", Budget: spec.Budget{Tokens: 2 * spent.Tokens, Money: 2 * spent.Money}}
				if _, _, err := runs.Run("small").Change(1).Record(t.Context(), r.Bucket, func() (runs.Change, error) { return change, nil }); err != nil {
					t.Error(err)
				}
				env.UpdateWorkflow(workflows.UpdateResume, "", done(t), workflows.Command{Who: "ann"})
			}, 3*time.Hour)
		})
		if err != nil || end.FinalDigest != want.FinalDigest || paused != 1 || g.calls != all.calls {
			t.Errorf("%s: paused %d times, %d calls instead of %d, digest %s instead of %s, %v", name, paused, g.calls, all.calls, end.FinalDigest, want.FinalDigest, err)
		}
		clean(t, r)
	}
}
