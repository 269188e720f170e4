package llm

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/chat"
)

// pickyServer is a server that refuses requests because of their members, and records the other requests.
type pickyServer struct {
	refuses func(q map[string]any) (status int, body string) // a status of 0 means an answer
	choices int                                              // number of choices in an answer; 0 means n

	mu   sync.Mutex
	all  int
	good []map[string]any
}

// serve starts the server and returns its base URL.
func (p *pickyServer) serve(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := map[string]any{}
		_ = json.NewDecoder(r.Body).Decode(&q)
		p.mu.Lock()
		defer p.mu.Unlock()
		p.all++
		if status, body := p.refuses(q); status != 0 {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)

			return
		}

		p.good = append(p.good, q)
		n := p.choices
		if asked, ok := q["n"].(float64); ok && n == 0 {
			n = int(asked)
		}
		one := fmt.Sprintf(`{"message":{"content":"answer %d"},"finish_reason":"stop"}`, len(p.good))
		_, _ = fmt.Fprintf(w, `{"choices":[%s],"usage":{"prompt_tokens":10,"completion_tokens":5}}`,
			strings.TrimSuffix(strings.Repeat(one+",", max(n, 1)), ","))
	}))
	t.Cleanup(s.Close)

	return s.URL + "/v1"
}

// fullRequest is a request with every member that a server may refuse.
var fullRequest = chat.Request{
	System: "s", User: "u", Temperature: 0.5, TopP: 0.9, MaxTokens: 70, Seed: 3, N: 1,
	Schema: &chat.Schema{Name: "grades", JSON: json.RawMessage(`{"type":"object"}`), Strict: true},
}

// fullClient returns a client that sends every member.
func fullClient(t *testing.T, base string) *Client {
	t.Helper()

	return must(t, Config{BaseURL: base, Model: "gpt-5-mini", Schema: SchemaJSON, LogProbs: true, Seeds: true})
}

// refuseMembers returns a function that refuses requests with one of the given members. The refusal names the first of
// them.
func refuseMembers(status int, body string, names ...string) func(map[string]any) (int, string) {
	return func(q map[string]any) (int, string) {
		for _, name := range names {
			if _, ok := q[name]; ok {
				return status, strings.ReplaceAll(body, "NAME", name)
			}
		}

		return 0, ""
	}
}

// openAI is OpenAI's refusal of a parameter that reasoning models do not support.
const openAI = `{"error":{"message":"Unsupported parameter: 'NAME' is not supported with this model.",` +
	`"type":"invalid_request_error","param":"NAME","code":"unsupported_parameter"}}`

func TestWhatAServerRefusesIsLeftOutFromThenOn(t *testing.T) {
	for name, x := range map[string]struct {
		refuses func(map[string]any) (int, string)
		left    []string // members left out of the request
		sent    []string // members that are sent nevertheless
	}{
		"a model that thinks": {
			refuseMembers(400, openAI, "max_tokens", "temperature", "top_p", "logprobs"),
			[]string{"logprobs", "max_tokens", "temperature", "top_p"},
			[]string{"max_completion_tokens", "seed", "response_format"},
		},
		"a value": {
			refuseMembers(400,
				`{"error":{"message":"Unsupported value: 'NAME' does not support 0.5 with this model. Only `+
					`the default (1) value is supported.","param":"NAME","code":"unsupported_value"}}`, "temperature"),
			[]string{"temperature"}, []string{"max_tokens"},
		},
		"log-probabilities by 403": {
			refuseMembers(403, `{"error":{"message":"You are not allowed to request logprobs from this model"}}`,
				"logprobs"),
			[]string{"logprobs"}, []string{"max_tokens", "temperature"},
		},
		"extra members": {
			refuseMembers(422, `{"detail":[{"type":"extra_forbidden","loc":["body","NAME"],`+
				`"msg":"Extra inputs are not permitted","input":3}]}`, "seed", "logprobs"),
			[]string{"logprobs", "seed"}, []string{"max_tokens", "temperature"},
		},
		"unknown names, in a list": {
			refuseMembers(400,
				`[{"error":{"code":400,"message":"Invalid JSON payload received. Unknown name \"NAME\": `+
					`Cannot find field.","status":"INVALID_ARGUMENT"}}]`, "seed", "max_tokens"),
			[]string{"max_tokens", "seed"}, []string{"max_completion_tokens", "temperature"},
		},
		"an error that came with success": {
			refuseMembers(200, `{"error":{"code":400,"message":"top_p is not supported"}}`, "top_p"),
			[]string{"top_p"}, []string{"max_tokens", "temperature"},
		},
		"the only word is the parameter's": {
			refuseMembers(400, `{"error":{"message":"unsupported","param":"NAME"}}`, "seed", "n"),
			[]string{"n", "seed"}, []string{"max_tokens"},
		},
		"a schema": {
			refuseFormats(400, `{"error":{"message":"This response_format type is unavailable now"}}`, "json_schema"),
			[]string{"json_schema"}, []string{"response_format"},
		},
		"every form": {
			refuseFormats(400, `{"error":"This model does not support response format TYPE."}`, SchemaJSON,
				SchemaObject),
			[]string{"json_object", "json_schema"}, []string{"max_tokens"},
		},
		"a server without n": {
			func(q map[string]any) (int, string) {
				if q["n"] != nil {
					return 400, `{"detail":"Only one completion choice is allowed"}`
				}

				return 0, ""
			},
			[]string{"n"}, []string{"max_tokens"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := &pickyServer{refuses: x.refuses}
			c := fullClient(t, p.serve(t))
			res, err := c.Complete(t.Context(), fullRequest)
			if err != nil {
				t.Fatalf("Complete = %v, want an answer without %v", err, x.left)
			}

			var left []string
			for parameter, words := range res.LeftOut {
				left = append(left, parameter)
				if words == "" {
					t.Errorf("%s was left out without a word, want the server's", parameter)
				}
			}
			slices.Sort(left)
			if !slices.Equal(left, x.left) {
				t.Errorf("left out %v, want %v", left, x.left)
			}
			for _, parameter := range x.left {
				if _, ok := p.good[0][parameter]; ok {
					t.Errorf("%s was sent, want it left out", parameter)
				}
			}
			for _, parameter := range x.sent {
				if _, ok := p.good[0][parameter]; !ok {
					t.Errorf("%s was not sent, want it: the server takes it", parameter)
				}
			}

			before := p.all
			if _, err := c.Complete(t.Context(), fullRequest); err != nil || p.all != before+1 {
				t.Errorf("the second call took %d requests, %v, want 1", p.all-before, err)
			}
		})
	}
}

// refuseFormats returns a function that refuses response formats by their types.
func refuseFormats(status int, body string, types ...string) func(map[string]any) (int, string) {
	return func(q map[string]any) (int, string) {
		format, _ := q["response_format"].(map[string]any)
		if name, _ := format["type"].(string); slices.Contains(types, name) {
			return status, strings.ReplaceAll(body, "TYPE", name)
		}

		return 0, ""
	}
}

func TestARefusalOfAnotherKindTeachesNothing(t *testing.T) {
	for _, x := range []struct {
		body     string
		requests int
	}{
		{`{"error":{"message":"max_tokens is too large: 70. This model supports at most 40","param":"max_tokens"}}`, 1},
		{`{"error":{"message":"The context length is 10 tokens: reduce max_tokens"}}`, 1},
		{`{"error":{"message":"Your prompt was flagged","code":"content_filter"}}`, 1},
		{`{"error":{"message":"the temperature of your prompt is too hot"}}`, 2}, // repeated without it, refused again
	} {
		refuse := true
		p := &pickyServer{refuses: func(map[string]any) (int, string) {
			if refuse {
				return 400, x.body
			}

			return 0, ""
		}}
		c := fullClient(t, p.serve(t))
		if _, err := c.Complete(t.Context(), fullRequest); fault.KindOf(err) != fault.Refused || p.all != x.requests {
			t.Errorf("%s: %v after %d requests, want a refused fault after %d", x.body, err, p.all, x.requests)
		}

		refuse = false
		res, err := c.Complete(t.Context(), fullRequest)
		if err != nil || len(res.LeftOut) > 0 {
			t.Errorf("%s: then %v without %v, want a whole request", x.body, err, res.LeftOut)
		}
	}
}

func TestAPolicyIsAskedWithEverythingOrNotAtAll(t *testing.T) {
	p := &pickyServer{refuses: refuseMembers(400, openAI, "temperature")}
	c := must(t, Config{BaseURL: p.serve(t)})
	if _, err := c.Complete(t.Context(), chat.Request{Model: "m", Temperature: 1}); fault.KindOf(err) != fault.Refused {
		t.Errorf("Complete = %v, want a refused fault: the temperature of a policy is part of the method", err)
	}
}

func TestManyCallsLearnAtOnce(t *testing.T) {
	const calls = 40
	p := &pickyServer{refuses: refuseMembers(400, openAI, "max_tokens", "temperature", "logprobs")}
	c := fullClient(t, p.serve(t))
	var all sync.WaitGroup
	for range calls {
		all.Go(func() {
			if res, err := c.Complete(t.Context(), fullRequest); err != nil || len(res.LeftOut) != 3 {
				t.Errorf("Complete = %v without %v, want an answer without 3 parameters", err, res.LeftOut)
			}
		})
	}
	all.Wait()
	if len(p.good) != calls {
		t.Errorf("%d calls were answered, want %d", len(p.good), calls)
	}
}

func TestTheKeyOfTheLengthIsTheOneThatIsSet(t *testing.T) {
	for key, want := range map[string]string{"": TokensMax, TokensMax: TokensMax, TokensCompletion: TokensCompletion} {
		p := &pickyServer{refuses: refuseMembers(0, "")}
		c := must(t, Config{BaseURL: p.serve(t), Model: "m", Tokens: key})
		if _, err := c.Complete(t.Context(), fullRequest); err != nil {
			t.Fatal(err)
		}
		if got := p.good[0][want]; got != 70.0 {
			t.Errorf("tokens_key %q: %s is %v, want 70", key, want, got)
		}
	}

	both := &pickyServer{refuses: refuseMembers(400, openAI, TokensMax, TokensCompletion)}
	_, err := fullClient(t, both.serve(t)).Complete(t.Context(), fullRequest)
	if fault.KindOf(err) != fault.Refused {
		t.Errorf("a server that refuses both keys: %v, want a refused fault: no answer may be without a bound", err)
	}
}

func TestAServerThatIgnoresNIsAskedForTheMissingAnswers(t *testing.T) {
	several := fullRequest
	several.N = 4
	for _, x := range []struct {
		name string
		p    *pickyServer
	}{
		{"ignores n", &pickyServer{choices: 1, refuses: refuseMembers(0, "")}},
		{"refuses n above 1", &pickyServer{refuses: func(q map[string]any) (int, string) {
			if n, _ := q["n"].(float64); n > 1 {
				return 400, `{"error":{"message":"'n' : number must be at most 1","type":"invalid_request_error"}}`
			}

			return 0, ""
		}}},
		{"answers half", &pickyServer{choices: 2, refuses: refuseMembers(0, "")}},
		{"answers more", &pickyServer{choices: 5, refuses: refuseMembers(0, "")}},
	} {
		res, err := fullClient(t, x.p.serve(t)).Complete(t.Context(), several)
		if err != nil || len(res.Texts) != several.N || res.Usage.Prompt != 10*len(x.p.good) {
			t.Errorf("%s: %d answers by %d requests with %d tokens, %v, want 4 and the tokens of all requests",
				x.name, len(res.Texts), len(x.p.good), res.Usage.Prompt, err)
		}
		seeds := map[any]bool{}
		for _, q := range x.p.good {
			if seeds[q["seed"]] {
				t.Errorf("%s: the seed %v was sent twice, want other answers", x.name, q["seed"])
			}
			seeds[q["seed"]] = true
		}
	}
}
