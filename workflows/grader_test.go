package workflows_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/chat"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/policy/llm"
	"github.com/collabui/collabui/test/kit/testrun"
	"github.com/collabui/collabui/workers/catalog"
)

// misbehaviour is a way in which the grader answers wrongly.
type misbehaviour string

const (
	throttles  misbehaviour = "429"
	breaksDown misbehaviour = "500"
	cutsBody   misbehaviour = "body"
	hangs      misbehaviour = "hang"
	otherShape misbehaviour = "shape"
	notNumbers misbehaviour = "NaN"
	leavesOut  misbehaviour = "missing"
)

var misbehaviours = []misbehaviour{throttles, breaksDown, cutsBody, hangs, otherShape, notNumbers, leavesOut}

// grader is a chat server that plays every role rightly in the scripted environment, except where it misbehaves: a
// share of its calls is answered by one of the misbehaviours.
type grader struct {
	share float64

	mu       sync.Mutex
	calls    int
	asked    map[string]int // calls by request
	answered map[string]int // whole answers by request
	faults   map[misbehaviour]int
}

// reply is an answer before it is written: the entries of a list under a key, or one text without a key.
type reply struct {
	key  string
	list []string
}

func (r reply) content() string {
	if r.key == "" {
		return r.list[0]
	}

	return fmt.Sprintf(`{%q:[%s]}`, r.key, strings.Join(r.list, ","))
}

func (g *grader) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	raw, _ := io.ReadAll(r.Body)
	var q struct {
		Messages []struct{ Content string }
	}
	if err := json.Unmarshal(raw, &q); err != nil {
		panic(err)
	}

	right := answer(q.Messages[0].Content, q.Messages[1].Content)
	if n := len(q.Messages); n > 2 {
		right.list = repaired(right.list, q.Messages[n-1].Content)
	}
	how := g.misbehave(string(raw))
	switch how {
	case throttles:
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(http.StatusTooManyRequests)
		return
	case breaksDown:
		w.WriteHeader(http.StatusInternalServerError)
		return
	case hangs:
		<-r.Context().Done()
		return
	}

	body := completion(how.spoil(right), len(raw))
	if how == cutsBody {
		body = body[:len(body)/2]
	}
	_, err := w.Write(body)
	if err == nil && how != cutsBody && r.Context().Err() == nil { // a caller that gave up has no answer
		g.mu.Lock()
		defer g.mu.Unlock()
		g.answered[string(raw)]++
	}
}

// misbehave counts a call and draws how it is answered. The draw depends on the request and on how often it was made,
// not on the order of calls, which differs between runs.
func (g *grader) misbehave(request string) misbehaviour {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.calls++
	g.asked[request]++
	rng := domain.Rand(99, "fault", request, g.asked[request])
	if rng.Float64() >= g.share {
		return ""
	}

	how := misbehaviours[rng.IntN(len(misbehaviours))]
	g.faults[how]++

	return how
}

// spoil returns the content of a reply as the misbehaviour changes it.
func (m misbehaviour) spoil(r reply) string {
	content := r.content()
	switch {
	case m == otherShape && r.key == "":
		return "I would rather not."
	case m == otherShape:
		return fmt.Sprintf(`{%q:{"all":1}}`, r.key)
	case m == notNumbers:
		return strings.ReplaceAll(content, `"score":1`, `"score":NaN`)
	case m == leavesOut && r.key == "":
		return content[:len(content)/2]
	case m == leavesOut:
		r.list = r.list[:len(r.list)/2]
		return r.content()
	}

	return content
}

// short returns a run of which only training is played.
func short(epochs int) spec.Spec {
	s := testrun.Small()
	s.Epochs, s.FineTune.MaxChunks, s.Evaluation.Val = epochs, 2, 4
	s.Evaluation.TestSeeds, s.Evaluation.TestTemplates = 0, 0

	return s
}

// judged returns a short run of one epoch whose critic is the chat model "judge".
func judged() spec.Spec {
	s := short(1)
	m := spec.DefaultModel()
	m.BaseURL, m.Model = "http://127.0.0.1/v1", "grader-1"
	m.Price = spec.Price{Prompt: 1, Answer: 2}
	s.Models, s.Critic.Model = map[spec.Role]spec.Model{"judge": m}, "judge"

	return s
}

// withGrader prepares a run whose chat model "judge" is a grader that misbehaves in a share of its calls.
func withGrader(t *testing.T, s spec.Spec, share float64) (*testrun.Run, *grader) {
	t.Helper()
	g := &grader{
		share: share, asked: map[string]int{}, answered: map[string]int{}, faults: map[misbehaviour]int{},
	}
	srv := httptest.NewServer(g)
	t.Cleanup(srv.Close)
	m := s.Models["judge"]
	m.BaseURL = srv.URL + "/v1"
	s.Models = map[spec.Role]spec.Model{"judge": m}
	if err := s.Validate(catalog.All{}); err != nil {
		t.Fatal(err)
	}

	timeout := 30 * time.Second // a loaded machine is not a fault
	if share > 0 {
		timeout = 1500 * time.Millisecond // what a hanging call costs
	}
	prepare := testrun.WithBase
	if len(s.FineTune.Levels) > 0 {
		prepare = testrun.Learning
	}
	r := prepare(t, s)
	r.Deps.Endpoint = func(m spec.Model) (chat.Model, error) {
		return llm.New(llm.Config{
			BaseURL: m.BaseURL, Model: m.Model, Timeout: timeout, Schema: string(m.Schema), Seeds: true,
		})
	}

	return r, g
}

// wantCallsOnce checks that no answered call was made again.
func (g *grader) wantCallsOnce(t *testing.T) {
	t.Helper()
	for q, n := range g.answered {
		if n > 1 {
			t.Errorf("a recorded call was made %d times, want once: %s", n, q)
		}
	}
}

// wantFewRepeats checks that faults cost at most 0.6 further calls per call of a run without faults.
func (g *grader) wantFewRepeats(t *testing.T, sound int) {
	t.Helper()
	t.Logf("%d calls, %.2f times those without faults; faults %v", g.calls, float64(g.calls)/float64(sound), g.faults)
	if most := 1.6 * float64(sound); float64(g.calls) > most {
		t.Errorf("%d calls, want at most %.0f: the run without faults made %d", g.calls, most, sound)
	}
}

// wantEveryMisbehaviour checks that the grader misbehaved in every way.
func (g *grader) wantEveryMisbehaviour(t *testing.T) {
	t.Helper()
	for _, m := range misbehaviours {
		if g.faults[m] == 0 {
			t.Errorf("the grader never misbehaved by %q, want every misbehaviour: %v", m, g.faults)
		}
	}
}
