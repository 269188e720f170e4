package preflight

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/method/chat"
	"github.com/collabui/collabui/internal/method/prompts"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/policy/endpoints"
	"github.com/collabui/collabui/internal/policy/llm"
)

// tried returns what is noted of a model that plays a role behind a server.
func tried(t *testing.T, role string, m spec.Model, quiet bool, h http.HandlerFunc) obstacles {
	t.Helper()
	srv := httptest.NewServer(h)
	defer srv.Close()
	e := &endpoints.Endpoints{Connect: func(m spec.Model) (chat.Model, error) {
		return llm.New(llm.Config{
			BaseURL: srv.URL + "/v1", Model: m.Model, Schema: string(m.Schema), Images: m.Images, LogProbs: m.Logprobs,
			Timeout: time.Minute,
		})
	}}
	s := spec.Default()
	s.Models = map[spec.Role]spec.Model{"judge": m}

	var o obstacles
	models := trials{endpoints: e, quiet: quiet, seen: map[string]bool{}}
	models.tryModels(t.Context(), s, []seat{{"judge", role}, {"judge", role}}, &o)

	return o
}

// judge returns the settings of a model.
func judge() spec.Model {
	m := spec.DefaultModel()
	m.Model = "m"

	return m
}

func TestAModelThatSaysNothingIsRefused(t *testing.T) {
	t.Parallel()
	silent := func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // then the server notices when the caller has gone
		<-r.Context().Done()
	}
	m := judge()
	m.Timeout = 0.2

	o := tried(t, prompts.Critic, m, false, silent)
	if len(o) != 1 || o[0].Warning || !strings.Contains(o[0].Why, "--no-probe") {
		t.Errorf("tryModels noted %+v, want one obstacle that names --no-probe and is no warning", o)
	}
	if o := tried(t, prompts.Critic, m, true, silent); len(o) != 0 {
		t.Errorf("tryModels noted %+v without a call, want nothing", o)
	}
}

// fitting are the answers that their roles can use.
var fitting = map[string]string{
	prompts.Critic:       `{"grades":[{"cell":"0.0","reason":"r","score":1},{"cell":"1.0","reason":"r","score":0}]}`,
	prompts.Adversary:    `{"answers":[{"reason":"r","action":{"action_type":"click","index":2}}]}`,
	prompts.Questions:    `{"items":[{"kind":"function","question":"Which saves?","answer":"","element":1}]}`,
	prompts.Instructions: `{"items":[{"instruction":"Save","reason":"r","action":{"action_type":"click","index":1}}]}`,
	prompts.Summariser:   `tapped Save`,
	prompts.Agent:        "Reason: r\nAction: {\"action_type\":\"click\",\"index\":1}",
}

// says writes a completion.
func says(w io.Writer, text, finish string) {
	content, _ := json.Marshal(text)
	_, _ = fmt.Fprintf(w, `{"choices":[{"message":{"content":%s},"finish_reason":%q}]}`, content, finish)
}

// answering gives one answer to all chats, and counts them.
func answering(text, finish string, calls *atomic.Int32) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/chat/completions" {
			w.WriteHeader(http.StatusNotFound) // it shows no tokens

			return
		}
		calls.Add(1)
		says(w, text, finish)
	}
}

func TestAModelIsTriedAsItsRoleAsks(t *testing.T) {
	t.Parallel()
	for role, text := range fitting {
		var calls atomic.Int32
		if o := tried(t, role, judge(), false, answering(text, "stop", &calls)); len(o) != 0 || calls.Load() != 1 {
			t.Errorf("%s: tryModels noted %+v after %d calls, want nothing after one: its role can use the answer",
				role, o, calls.Load())
		}

		for _, x := range []struct {
			answer, finish, want string
		}{
			{"", "length", "raise models.judge.max_tokens"},
			{"", "stop", "as the " + seat{role: role}.part() + " it gave an empty answer"},
			{"yes", "stop", `it gave an answer that is of no use: `},
			{"yes", "length", "raise models.judge.max_tokens"},
		} {
			calls.Store(0)
			o := tried(t, role, judge(), false, answering(x.answer, x.finish, &calls))
			if n := calls.Load(); n > trialCalls {
				t.Errorf("%s answers %q, %s: it was asked %d times, want %d at most: each call is paid for",
					role, x.answer, x.finish, n, trialCalls)
			}
			if role == prompts.Summariser && x.answer != "" {
				continue // any line will do
			}
			if len(o) != 1 || o[0].Warning || o[0].Where != "models.judge" || !strings.Contains(o[0].Why, x.want) {
				t.Errorf("%s answers %q, %s: tryModels noted %+v, want %q", role, x.answer, x.finish, o, x.want)
			}
		}
	}
}

func TestAnEmptyAnswerIsNamedByWhatStandsInItsPlace(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]string{
		`{"message":{"content":""},"finish_reason":"LENGTH"}`:                   "raise models.judge.max_tokens",
		`{"message":{"content":""},"finish_reason":"max_output_tokens"}`:        "raise models.judge.max_tokens",
		`{"message":{"content":"<think>hm {"},"finish_reason":"stop"}`:          "a thought and no answer",
		`{"message":{"content":null,"reasoning_content":"hm"}}`:                 `The thought begins "hm"`,
		`{"message":{"content":null,"tool_calls":[{"function":{"name":"f"}}]}}`: "calls the tool f",
		`{"message":{"content":" "},"finish_reason":"stop"}`:                    "an empty answer: choose another",
	} {
		o := tried(t, prompts.Critic, judge(), false, func(w http.ResponseWriter, _ *http.Request) {
			_, _ = fmt.Fprintf(w, `{"choices":[%s]}`, answer)
		})
		if len(o) != 1 || o[0].Warning || !strings.Contains(o[0].Why, want) {
			t.Errorf("%s: tryModels noted %+v, want one obstacle with %q", answer, o, want)
		}
	}
}

func TestALongWaitIsNotedBeforeTheStart(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		status int
		after  string
		want   string
	}{
		{429, "86399", "a run that starts now waits 23h59m59s"},
		{503, "700", "a run that starts now waits 11m40s"},
		{429, "600", ""},
		{429, "", ""},
	} {
		o := tried(t, prompts.Critic, judge(), false, func(w http.ResponseWriter, _ *http.Request) {
			if x.after != "" {
				w.Header().Set("Retry-After", x.after)
			}
			w.WriteHeader(x.status)
			_, _ = io.WriteString(w, `{"error":{"message":"free-models-per-day"}}`)
		})
		if x.want == "" && len(o) != 0 || x.want != "" &&
			(len(o) != 1 || !o[0].Warning || !strings.Contains(o[0].Why, x.want)) {
			t.Errorf("%d after %s: tryModels noted %+v, want a warning with %q", x.status, x.after, o, x.want)
		}
	}
}

func TestATrialFindsWhatAServerRefuses(t *testing.T) {
	t.Parallel()
	whole := judge()
	whole.Logprobs, whole.Images = true, true
	refusing := func(pattern, words string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			raw, _ := io.ReadAll(r.Body)
			if regexp.MustCompile(pattern).Match(raw) {
				w.WriteHeader(http.StatusBadRequest)
				_, _ = io.WriteString(w, words)

				return
			}
			role := prompts.Agent
			if strings.Contains(string(raw), "strict critic") {
				role = prompts.Critic
			}
			says(w, fitting[role], "stop")
		}
	}
	for name, x := range map[string]struct {
		role, pattern, words string
		want                 []string
		refused              bool
	}{
		"a schema": {
			prompts.Critic, `"json_schema"`, `{"error":{"message":"This response_format type is unavailable now"}}`,
			[]string{"refuses json_schema, so requests are made without it", "type is unavailable now"}, false,
		},
		"every form of answers": {
			prompts.Critic, `"response_format"`, `{"error":"response_format is not supported"}`,
			[]string{"the server refuses json_schema", "the server refuses json_object"}, false,
		},
		"a temperature": {
			prompts.Critic, `"temperature"`, `{"error":{"message":"Unsupported value: 'temperature'"}}`,
			[]string{"the server refuses temperature"}, false,
		},
		"images": {
			prompts.Agent, `image_url`, `{"error":"this model does not support image input"}`,
			[]string{"does not support image input", "set models.judge.images to false"}, true,
		},
		"log-probabilities": {
			prompts.Critic, `nothing of this kind`, "", []string{"set models.judge.logprobs to false"}, false,
		},
		"a model's name": {
			prompts.Critic, `.`, `{"error":"model 'm' is broken"}`, []string{"model 'm' is broken"}, true,
		},
	} {
		o := tried(t, x.role, whole, false, refusing(x.pattern, x.words))
		text := ""
		for _, one := range o {
			text += one.Why + "\n"
			if x.refused == one.Warning {
				t.Errorf("%s: tryModels noted %+v, want it refused: %v", name, one, x.refused)
			}
		}
		for _, want := range x.want {
			if !strings.Contains(text, want) {
				t.Errorf("%s: tryModels noted %q, want %q", name, text, want)
			}
		}
	}
}

func TestATrialRefusesAModelWhoseTurnsAPageCanForge(t *testing.T) {
	t.Parallel()
	for prompt, refused := range map[string]bool{"USER: zebra 71 ASSISTANT:": true, "[INST] zebra 71 [/INST]": false} {
		o := tried(t, prompts.Critic, judge(), false, func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/apply-template":
				_ = json.NewEncoder(w).Encode(map[string]string{"prompt": prompt})
			case "/tokenize":
				var q struct{ Content string }
				_ = json.NewDecoder(r.Body).Decode(&q)
				_ = json.NewEncoder(w).Encode(map[string]any{"tokens": []rune(q.Content)})
			default:
				says(w, fitting[prompts.Critic], "stop")
			}
		})
		if (len(o) == 1 && !o[0].Warning && strings.Contains(o[0].Why, "a page can forge a turn")) != refused {
			t.Errorf("%q: tryModels noted %+v, want it refused: %v", prompt, o, refused)
		}
	}
}

func TestATrialShowsAScreenOfTheFamily(t *testing.T) {
	t.Parallel()
	for family, want := range map[domain.Family]string{
		domain.FamilyMobile: "1 button Save", domain.FamilyWeb: "B button Save",
	} {
		step := trialStep(family)
		if got := agents.Lines(step.Observation)[1]; got != want {
			t.Errorf("a screen of family %s shows %q, want %q: its actions name elements so", family, got, want)
		}
		for _, cell := range step.Decision.Cells {
			if _, err := agents.ParseAnswer(cell.Text); err != nil || cell.Canonical == "" {
				t.Errorf("a proposal of family %s is %+v (%v), want one that can be read", family, cell, err)
			}
		}
	}
}
