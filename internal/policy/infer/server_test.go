package infer_test

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/method/chat"
	"github.com/collabui/collabui/internal/policy/infer"
	"github.com/collabui/collabui/test/kit/testrun"
)

type object = map[string]any

// answer is the response of a server.
type answer struct {
	infer.Answer
	Error *struct{ Message, Type, Code string }
}

// serve serves a system until the test ends.
func serve(t *testing.T, sys infer.TrainedSystem, model chat.Model, key string) (url string) {
	t.Helper()
	srv := httptest.NewServer(infer.NewServer(sys, model, func() string { return key }))
	t.Cleanup(srv.Close)

	return srv.URL
}

// postChat posts a request with further fields. content is the last message's content.
func postChat(t *testing.T, url string, content any, more object) (int, answer) {
	t.Helper()
	q := object{"model": "small", "messages": []any{
		object{"role": "system", "content": "ignored"},
		object{"role": "user", "content": content},
	}}
	maps.Copy(q, more)
	body, err := json.Marshal(q)
	if err != nil {
		t.Fatal(err)
	}

	return post(t, url, body, "")
}

func post(t *testing.T, url string, body []byte, key string) (int, answer) {
	t.Helper()
	address := url + "/v1/chat/completions"
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	raw := drain(t, res)

	var a answer
	if err := json.Unmarshal(raw, &a); err != nil {
		t.Fatalf("the response is %s: %v, want JSON", raw, err)
	}

	return res.StatusCode, a
}

// get returns a response and its body.
func get(t *testing.T, url string) (*http.Response, string) {
	t.Helper()
	res, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}

	return res, string(drain(t, res))
}

func drain(t *testing.T, res *http.Response) []byte {
	t.Helper()
	defer func() { _ = res.Body.Close() }()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}

	return raw
}

// screen returns the view that all forms of a request describe.
func screen() agents.View {
	var o domain.Observation
	for i, n := range []string{"alpha", "beta two", "gamma"} {
		o.Elements = append(o.Elements, domain.Element{Index: i, Role: "button", Text: n, Visible: true})
	}
	o.Elements = append(o.Elements,
		domain.Element{
			Index: 3, Role: "field", Text: "Name", Editable: true, Value: "old text", State: []string{"focused"},
			Visible: true,
		},
		domain.Element{
			Index: 4, Role: "text", Text: strings.Repeat("long words ", 20), Desc: strings.Repeat("more ", 30),
			Visible: true,
		},
	)

	return agents.View{Goal: "Tap gamma then alpha", History: []string{"1 click button gamma"}, Observation: o}
}

// screenAsPrompt returns the screen as the agents' prompt shows it.
func screenAsPrompt(t *testing.T) string {
	t.Helper()
	text, err := agents.Default.User(screen(), "", nil)
	if err != nil {
		t.Fatal(err)
	}

	return text
}

// screenAsJSON returns the screen as JSON, with its observation or only the observation's elements.
func screenAsJSON(t *testing.T, observation bool) string {
	t.Helper()
	v := screen()
	q := object{"goal": v.Goal, "history": v.History, "elements": v.Observation.Elements}
	if observation {
		q = object{"goal": v.Goal, "history": v.History, "observation": v.Observation}
	}
	raw, err := json.Marshal(q)
	if err != nil {
		t.Fatal(err)
	}

	return string(raw)
}

// withoutCache returns a decision without the figures that depend on the server's cache.
func withoutCache(d domain.Decision) domain.Decision {
	for i := range d.Cells {
		d.Cells[i].Usage.Cached = 0
	}

	return d
}

// decide returns the agents' decision about the screen, cut short as in evaluations and in full.
func decide(t *testing.T, r *testrun.Run, sys infer.TrainedSystem, seed uint64) (early, full domain.Decision) {
	t.Helper()
	conf, err := sys.Config(seed)
	if err != nil {
		t.Fatal(err)
	}
	all := domain.EvaluationTopologies(4)
	if !slices.ContainsFunc(all, func(x domain.Topology) bool { return reflect.DeepEqual(x, conf.Topology) }) {
		t.Fatalf("seed %d decides on %v, want one of %v", seed, conf.Topology, all)
	}
	if want := r.Spec.Temperatures(); !reflect.DeepEqual(conf.Temperature, want) || !conf.Early {
		t.Fatalf("seed %d decides at %v, early: %v; want %v, early", seed, conf.Temperature, conf.Early, want)
	}

	early, err = agents.Decide(t.Context(), r.Deps.Chat, conf, screen(), seed)
	if err != nil {
		t.Fatal(err)
	}
	conf.Early = false
	full, err = agents.Decide(t.Context(), r.Deps.Chat, conf, screen(), seed)
	if err != nil {
		t.Fatal(err)
	}

	return early, full
}

func decisions(t *testing.T, r *testrun.Run, sys infer.TrainedSystem) {
	url := serve(t, sys, r.Deps.Chat, "")
	decided := 0
	for seed := range uint64(6) {
		early, full := decide(t, r, sys, seed)
		matrix := object{"seed": seed, "collabui": object{"matrix": true}}
		status, got := postChat(t, url, screenAsJSON(t, false), matrix)
		if full.AllRound.Votes == 0 {
			if status != http.StatusBadGateway || got.Error.Code != "no_action" {
				t.Errorf("seed %d decides nothing and answers %d, %+v; want 502, no_action", seed, status, got.Error)
			}
			continue
		}

		decided++
		if status != http.StatusOK || got.Collabui.Decided == nil {
			t.Fatalf("seed %d answers %d without the matrix, want 200 and the matrix", seed, status)
		}
		if !reflect.DeepEqual(withoutCache(got.Collabui.Decision), withoutCache(full)) {
			t.Fatalf("seed %d decides %+v, want %+v", seed, got.Collabui.Decision, full)
		}
		wantCounts(t, sys, got, full)
		wantCompletion(t, got, early)
		wantAllForms(t, url, seed, got)
	}
	if decided == 0 {
		t.Error("no seed decides anything, want some")
	}

	if _, got := get(t, url+"/v1/models"); !strings.Contains(got, `"id":"small"`) {
		t.Errorf("/v1/models = %s, want the model small", got)
	}
}

// wantCounts checks the votes, the tokens and the policies of an answer.
func wantCounts(t *testing.T, sys infer.TrainedSystem, got answer, d domain.Decision) {
	t.Helper()
	parsed, tokens := 0, 0
	for _, c := range d.Cells {
		tokens += c.Usage.Prompt + c.Usage.Answer
		if c.Action != nil {
			parsed++
		}
	}
	votes := 0
	for _, x := range got.Collabui.Votes {
		votes += x.Votes
	}

	if votes != parsed {
		t.Errorf("%d votes, want one per cell that parses, %d", votes, parsed)
	}
	if first := got.Collabui.Votes[0]; first != d.AllRound {
		t.Errorf("the first vote = %+v, want the winner, %+v", first, d.AllRound)
	}
	if got.Usage.Total != tokens || tokens == 0 {
		t.Errorf("%d tokens in total, want those of all cells, %d", got.Usage.Total, tokens)
	}
	if want := sys.Digests(); !reflect.DeepEqual(got.Collabui.Policies, want) {
		t.Errorf("the policies = %v, want %v", got.Collabui.Policies, want)
	}
}

// wantCompletion checks that an answer is a chat completion with the winner of a decision.
func wantCompletion(t *testing.T, got answer, d domain.Decision) {
	t.Helper()
	c := got.Choices[0]
	act, err := agents.ParseAnswer(c.Message.Content)
	if err != nil {
		t.Errorf("the content %q does not parse: %v, want an action", c.Message.Content, err)
	} else if name := act.Canonical(screen().Observation); name != d.AllRound.Canonical {
		t.Errorf("the content says %s, want the winner, %s", name, d.AllRound.Canonical)
	}
	if c.FinishReason != "stop" || c.Message.Role != "assistant" {
		t.Errorf("the choice = %+v, want a message of the assistant that stopped", c)
	}
	if got.Object != "chat.completion" || got.Model != "small" {
		t.Errorf("the answer is a %q of %q, want a chat.completion of small", got.Object, got.Model)
	}
}

// wantAllForms checks that the screen in every other form gets the same answer.
func wantAllForms(t *testing.T, url string, seed uint64, want answer) {
	t.Helper()
	text := screenAsPrompt(t)
	for form, content := range map[string]any{
		"elements":         screenAsJSON(t, false),
		"observation":      screenAsJSON(t, true),
		"prompt":           text,
		"parts":            []any{object{"type": "text", "text": text}},
		"lines of Windows": strings.ReplaceAll(text, "\n", "\r\n"),
	} {
		status, got := postChat(t, url, content, object{"seed": seed})
		if status != http.StatusOK || len(got.Choices) != 1 {
			t.Errorf("seed %d as %s: status %d, %+v; want 200 and one choice", seed, form, status, got)
			continue
		}
		if said, want := got.Choices[0].Message.Content, want.Choices[0].Message.Content; said != want {
			t.Errorf("seed %d as %s: %q, want %q", seed, form, said, want)
		}
		if got.Collabui.Decided != nil || got.Usage.Total > want.Usage.Total {
			t.Errorf("seed %d as %s: %d tokens and the matrix %+v, want no more than %d and no matrix",
				seed, form, got.Usage.Total, got.Collabui.Decided, want.Usage.Total)
		}
	}
}

// checkGreedy checks that agents at temperature 0 give the same answer for two seeds with the same topology.
func checkGreedy(t *testing.T, r *testrun.Run, sys infer.TrainedSystem) {
	url, text := serve(t, sys, r.Deps.Chat, ""), screenAsPrompt(t)
	cold := object{"temperature": 0, "collabui": object{"matrix": true}}
	_, one := postChat(t, url, text, cold)
	cold["seed"] = 4
	_, two := postChat(t, url, text, cold)
	if one.Collabui.Decided == nil || two.Collabui.Decided == nil {
		t.Fatalf("the answers = %+v and %+v, want both with the matrix", one, two)
	}
	if got, want := two.Choices[0].Message.Content, one.Choices[0].Message.Content; got != want {
		t.Errorf("the answer with another seed = %q, want %q", got, want)
	}
	if n := len(one.Collabui.Decision.Cells); n != 8 {
		t.Errorf("the matrix has %d cells, want 8", n)
	}
}
