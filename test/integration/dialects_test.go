//go:build integration

package integration

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/collabui/collabui/internal/method/prompts"
	"github.com/collabui/collabui/internal/method/rules"
)

// request is the part of a chat request about which servers disagree.
type request struct {
	Model       string
	Messages    []struct{ Content string }
	MaxTokens   *int                  `json:"max_tokens"`
	Temperature *float64              `json:"temperature"`
	TopP        *float64              `json:"top_p"`
	Seed        *int64                `json:"seed"`
	Format      struct{ Type string } `json:"response_format"`
}

// refusal is a status and a body with which a server refuses a request.
type refusal struct {
	status int
	body   string
}

// dialect is a server as its documentation describes it.
type dialect struct {
	model   string
	address string               // path below the server's and the dialect's; by default /v1
	keys    string               // further keys of the model in the specification
	refuse  func(request) string // returns a body of status 400, or ""
	first   *refusal             // answers the first request of a run
	answer  string               // TEXT stands for the answer as JSON, USAGE for its usage
}

const usual = `{"id":"c","object":"chat.completion","created":1764300000,"model":"m","choices":[{"index":0,` +
	`"message":{"role":"assistant","content":TEXT},"finish_reason":"stop"}],"usage":USAGE}`

// message returns an answer whose message, choice and whole have further members.
func message(members, choice, whole string) string {
	return strings.NewReplacer(`"content":TEXT`, `"content":TEXT,`+members, `"stop"}]`, `"stop",`+choice+`}]`,
		`{"id"`, `{`+whole+`,"id"`).Replace(usual)
}

// openaiError returns the body of an error in OpenAI's form.
func openaiError(text, param, code string) string {
	return fmt.Sprintf(`{"error":{"message":%q,"type":"invalid_request_error","param":%q,"code":%q}}`, text, param,
		code)
}

var dialects = map[string]dialect{
	"openai": {
		model: "gpt-4.1",
		answer: message(`"refusal":null,"annotations":[]`, `"logprobs":null`,
			`"service_tier":"default","system_fingerprint":null`),
	},
	"openai-reasoning": {
		model: "gpt-5-mini",
		refuse: func(q request) string {
			switch {
			case q.MaxTokens != nil:
				return openaiError("Unsupported parameter: 'max_tokens' is not supported with this model. Use "+
					"'max_completion_tokens' instead.", "max_tokens", "unsupported_parameter")
			case q.Temperature != nil && *q.Temperature != 1:
				return openaiError("Unsupported value: 'temperature' does not support 0.7 with this model. Only the "+
					"default (1) value is supported.", "temperature", "unsupported_value")
			case q.TopP != nil:
				return openaiError("Unsupported parameter: 'top_p' is not supported with this model.", "top_p",
					"unsupported_parameter")
			}

			return ""
		},
		answer: message(`"refusal":null`, `"logprobs":null`, `"service_tier":"default"`),
	},
	"azure": {
		model: "deployed", address: "/openai/deployments/deployed?api-version=2024-10-21",
		keys: ", headers: {api-key: $CANARY_TEAM_API_KEY}",
		answer: message(`"refusal":null`, `"content_filter_results":{"hate":{"filtered":false,"severity":"safe"}}`,
			`"prompt_filter_results":[{"prompt_index":0,"content_filter_results":{}}]`),
	},
	"deepseek": {
		model: "deepseek-reasoner",
		refuse: func(q request) string {
			if q.Format.Type == "json_schema" {
				return openaiError("This response_format type is unavailable now", "", "invalid_request_error")
			}

			return ""
		},
		answer: "\n\n\n" + message(`"reasoning_content":"I look."`, `"logprobs":null`, `"system_fingerprint":"f"`),
	},
	"mistral": {
		model: "magistral-small-latest",
		refuse: func(q request) string {
			if q.Seed != nil {
				return `{"object":"error","message":{"detail":[{"type":"extra_forbidden","loc":["body","seed"],` +
					`"msg":"Extra inputs are not permitted","input":1}]},"type":"invalid_request_error","code":null}`
			}

			return ""
		},
		answer: strings.Replace(usual, "TEXT", `[{"type":"thinking","thinking":[{"type":"text","text":"Hm."}]},`+
			`{"type":"text","text":TEXT}]`, 1),
	},
	"gemini": {
		model: "gemini-2.5-flash", address: "/v1beta/openai",
		refuse: func(q request) string {
			if q.Seed != nil {
				return `[{"error":{"code":400,"message":"Invalid JSON payload received. Unknown name \"seed\": ` +
					`Cannot find field.","status":"INVALID_ARGUMENT"}}]`
			}

			return ""
		},
		first: &refusal{http.StatusTooManyRequests, `[{"error":{"code":429,"message":"You exceeded your current ` +
			`quota. Please retry in 0.2s.","status":"RESOURCE_EXHAUSTED","details":[{"@type":` +
			`"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"0.2s"}]}}]`},
		answer: usual,
	},
	"openrouter": {
		model: "vendor/model:free", address: "/api/v1",
		first: &refusal{http.StatusOK, `{"error":{"code":502,"message":"Provider returned error","metadata":{}}}`},
		answer: ": OPENROUTER PROCESSING\n\n: OPENROUTER PROCESSING\n\n" + message(
			`"reasoning":"Hm.","reasoning_details":[{"type":"reasoning.text","text":"Hm."}]`,
			`"native_finish_reason":"STOP"`, `"provider":"Vendor"`),
	},
	"ollama": {
		model: "qwen3:8b", answer: message(`"reasoning":"Hm."`, `"logprobs":null`, `"system_fingerprint":"fp_ollama"`),
	},
	"lm-studio": {
		model: "qwen/qwen3-8b", keys: ", schema: json_object",
		refuse: func(q request) string {
			if q.Format.Type == "json_object" {
				return `{"error":"'response_format.type' must be 'json_schema' or 'text'"}`
			}

			return ""
		},
		answer: strings.Replace(message(`"tool_calls":[]`, `"logprobs":null`, `"stats":{}`), "TEXT",
			"THOUGHT", 1),
	},
	"llama.cpp": {
		model: "model.gguf",
		first: &refusal{http.StatusServiceUnavailable,
			`{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}`},
		answer: message(`"reasoning_content":"Hm."`, `"logprobs":null`, `"timings":{"prompt_n":1,"predicted_ms":0.5}`),
	},
	"vllm": {
		model: "Qwen/Qwen3-8B",
		answer: message(`"refusal":null,"reasoning_content":null,"tool_calls":[]`,
			`"stop_reason":null,"token_ids":null`,
			`"prompt_logprobs":null,"kv_transfer_params":null`),
	},
	"sglang": {
		model:  "Qwen/Qwen3-8B",
		answer: message(`"reasoning_content":null,"tool_calls":null`, `"matched_stop":151645`, `"metadata":{"a":"b"}`),
	},
	"no usage": {model: "m", answer: strings.Replace(usual, "USAGE", "null", 1)},
}

// polyglot answers in the dialect that the first element of the path names.
type polyglot struct {
	answer func(system, user string) string

	mu    sync.Mutex
	began map[string]bool // which dialects have answered their first request, by name
}

func (h *polyglot) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	name = strings.ReplaceAll(name, "+", " ")
	d, known := dialects[name]
	raw, _ := io.ReadAll(r.Body)
	var q request
	switch err := json.Unmarshal(raw, &q); {
	case !known || err != nil || q.Model != d.model || !strings.HasSuffix(rest, "chat/completions"),
		strings.Contains(d.address, "?") && r.URL.RawQuery != "api-version=2024-10-21":
		http.Error(w, "<html><h1>404 Not Found</h1></html>", http.StatusNotFound)

		return
	}
	h.mu.Lock()
	first := d.first != nil && !h.began[name] && !trial(string(raw))
	h.began[name] = h.began[name] || first
	h.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	if first {
		w.WriteHeader(d.first.status)
		_, _ = io.WriteString(w, d.first.body)

		return
	}
	if d.refuse != nil {
		if body := d.refuse(q); body != "" {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, body)

			return
		}
	}

	content := h.answer(q.Messages[0].Content, q.Messages[1].Content)
	text, _ := json.Marshal(content)
	thought, _ := json.Marshal("<think>\nHm.\n</think>\n\n" + content)
	usage := fmt.Sprintf(`{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d,"prompt_tokens_details":null,`+
		`"completion_tokens_details":{"reasoning_tokens":0}}`, len(raw)/4, len(content)/4, (len(raw)+len(content))/4)
	_, _ = strings.NewReplacer("TEXT", string(text), "THOUGHT", string(thought), "USAGE", usage).
		WriteString(w, d.answer)
}

// inDialect is a run in which chat models have every role except the trained agents'.
const inDialect = `name: %s
epochs: 1
slots: 3
rounds: 2
models:
  m: {base_url: "%s", model: "%s", price: {prompt: 1, answer: 2}%s}
critic: {model: m}
adversary: {model: m}
summariser: {model: m}
synthesis: {author: m, screens: 6, questions: 3, instructions: 3, pairs: 8}
finetune: {levels: [1, 2, 3], demonstrations: 10, steps: {level1: 5, level2: 5, level3: 5, preference: 2}}
pairs: {kind: +correction, min_pairs: 1}
train: {batch_size: 4, passes: 1}
evaluation: {val: 2, test_seeds: 0, test_templates: 0, test_apps: 0}
`

// TestARunEndsAlikeInEveryDialect plays whole runs with stubs of common servers, from nothing to a report.
func TestARunEndsAlikeInEveryDialect(t *testing.T) {
	t.Parallel()
	h := &polyglot{answer: answer, began: map[string]bool{}}
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	m := newMachine(t, "")
	m.env = append(m.env, canaries...)

	m.must("up")

	var mu sync.Mutex
	digests := map[string]string{}
	t.Run("servers", func(t *testing.T) {
		for name, d := range dialects {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				digest := m.speaks(t, srv.URL, name, d)
				mu.Lock()
				defer mu.Unlock()
				digests[name] = digest
			})
		}
	})
	allEqual(t, digests)
}

// speaks plays a run with a server of a dialect, makes its report, and returns the digest of its end.
func (m *machine) speaks(t *testing.T, server, name string, d dialect) (digest string) {
	t.Helper()
	run := plainName(name)
	file := m.write(run+".yaml", fmt.Sprintf(inDialect, run, d.at(server, name), d.model, d.keys))
	if out, err := m.try("train", file); err != nil {
		t.Fatalf("train: %v, want success\n%s", err, out)
	}

	var s shown
	out, err := m.try("show", run, "--json")
	if err == nil {
		err = json.Unmarshal([]byte(out), &s)
	}
	if err != nil || !s.finished() {
		t.Fatalf("show: %v, want a run that is finished\n%s", err, out)
	}

	report := m.file("report-" + run)
	if out, err := m.try("report", run, "--out", report); err != nil || len(filesWith(report, run)) == 0 {
		t.Errorf("report: %v, want files about the run\n%s", err, out)
	}

	return s.FinalDigest
}

// plainName returns the name of a dialect in the form of names of runs and models.
func plainName(dialect string) string {
	return strings.NewReplacer(" ", "-", ".", "-").Replace(dialect)
}

// at returns the address of a dialect at the server.
func (d dialect) at(server, name string) string {
	return server + "/" + strings.ReplaceAll(name, " ", "+") + cmp.Or(d.address, "/v1")
}

// listedLine matches an element that can be tapped, as prompts list it.
var listedLine = regexp.MustCompile(`(?m)^(\d+|[A-Z]+\.) (?:button|link|item|tab) (.*)$`)

// tap answers a question in the form that it demands.
func tap(user string) string {
	goal, found, best := goalLine.FindStringSubmatch(user), "", ""
	for _, x := range listedLine.FindAllStringSubmatch(user, -1) {
		if len(goal) > 1 && strings.Contains(goal[1], x[2]) && len(x[2]) > len(best) {
			found, best = x[1], x[2]
		}
	}
	if strings.HasSuffix(found, ".") {
		return "ELEMENT: " + found + "\nACTION: CLICK\nVALUE: None"
	}

	return fmt.Sprintf("Reason: the goal names it\nAction: {\"action_type\":\"click\",\"index\":%s}", found)
}

// TestAgentsPlayAlikeInEveryDialect makes a chat model of every dialect the agent, with two prompt styles.
func TestAgentsPlayAlikeInEveryDialect(t *testing.T) {
	t.Parallel()
	h := &polyglot{answer: func(_, user string) string { return tap(user) }, began: map[string]bool{}}
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	m := newMachine(t, "")
	m.env = append(m.env, canaries...)

	ways := []string{rules.WayPlain, prompts.T3A}
	models, contrasts := "models:\n", "contrasts:\n"
	for name, d := range dialects {
		models += fmt.Sprintf("  %s: {base_url: %q, model: %q%s}\n", plainName(name), d.at(srv.URL, name), d.model,
			d.keys)
		for _, way := range ways {
			contrasts += fmt.Sprintf("  - {of: full/trained, minus: full/%s-%s, split: val}\n", plainName(name), way)
		}
	}
	m.write("agents.yaml", strings.Replace(specification, "epochs: 2", "epochs: 1", 1)+models)
	file := m.write("experiment.yaml", "name: agents\nabout: which server answers for agents\n"+
		"specification: agents.yaml\nseeds: 2\nepisodes: {val: 6}\narms:\n  - {name: full}\n"+contrasts)
	result := m.table(file)

	successes := 0
	for seed, systems := range result.Systems {
		for _, way := range ways {
			outcomes := map[string]string{}
			for name := range dialects {
				r := systems[fmt.Sprintf("full/%s-%s on val", plainName(name), way)]
				outcomes[name] = fmt.Sprintf("seed %d, %s: %d of %d episodes, %d prompts refused, %d answers repaired",
					seed+1, way, r.Successes, r.Episodes, r.Refused, r.Repaired)
				successes += r.Successes
			}
			allEqual(t, outcomes)
		}
	}
	if successes == 0 {
		t.Error("no agent succeeds, want some that do")
	}
}

// filesWith lists the files below a folder that contain a text.
func filesWith(folder, text string) (out []string) {
	_ = filepath.WalkDir(folder, func(path string, _ os.DirEntry, _ error) error {
		if raw, err := os.ReadFile(path); err == nil && strings.Contains(string(raw), text) {
			out = append(out, path)
		}

		return nil
	})

	return out
}
