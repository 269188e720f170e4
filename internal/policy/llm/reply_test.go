package llm

import (
	"encoding/json"
	"math"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	openai "github.com/sashabaranov/go-openai"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/chat"
)

// completeWith calls a server that gives this answer to every request.
func completeWith(t *testing.T, conf Config, body string) (chat.Response, error) {
	t.Helper()
	conf.BaseURL, _, _ = server(t, http.StatusOK, nil, body)

	return must(t, conf).Complete(t.Context(), chat.Request{Model: "m", User: "u", N: 1})
}

func TestAnswersAreReadInTheFormsInWhichServersSendThem(t *testing.T) {
	const usage = `"usage":{"prompt_tokens":5,"completion_tokens":2}`
	plain := func(message string) string {
		return `{"choices":[{"message":` + message + `,"finish_reason":"stop"}],` + usage + `}`
	}
	for name, c := range map[string]struct{ body, text, thought string }{
		"created is a float": {`{"created":1764300000.52,` + plain(`{"content":"A"}`)[1:], "A", ""},
		"created is a text":  {`{"created":"2026-01-01T00:00:00Z",` + plain(`{"content":"A"}`)[1:], "A", ""},
		"members that are new": {
			`{"x":[{}],"id":7,"model":null,"object":{},` + plain(`{"content":"A"}`)[1:], "A", "",
		},
		"members that are null": {
			`{"error":null,"created":null,` + plain(`{"content":"A","tool_calls":null}`)[1:], "A", "",
		},
		"tools of another type": {plain(`{"content":"A","tool_calls":{},"annotations":"x","role":7}`), "A", ""},
		"an index that is a text": {
			`{"choices":[{"index":"0","finish_reason":3,"message":{"content":"A"}}],` + usage + `}`, "A", "",
		},
		"an error of success": {
			`{"error":{"code":0,"message":"success"},` + plain(`{"content":"A"}`)[1:], "A", "",
		},
		"an error without content": {`{"error":{"code":null,"message":null},` + plain(`{"content":"A"}`)[1:], "A", ""},
		"an error that is empty":   {`{"error":{},` + plain(`{"content":"A"}`)[1:], "A", ""},
		"comments before it": {
			": OPENROUTER PROCESSING\n\n: OPENROUTER PROCESSING\n" + plain(`{"content":"A"}`), "A", "",
		},
		"a byte order mark": {"\ufeff\r\n\r\n" + plain(`{"content":"A"}`), "A", ""},
		"text after it":     {plain(`{"content":"A"}`) + "\n\n[DONE]", "A", ""},

		"parts": {
			plain(`{"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]},` +
				`{"type":"text","text":"A"}]}`), "A", "hm",
		},
		"parts of another make": {
			plain(`{"content":[{"type":"reasoning","text":"h"},{"type":"reasoning","reasoning":"m"},` +
				`{"type":"output_text","text":"A"},{"type":"image_url","image_url":{"url":"u"}},"B"]}`), "AB", "hm",
		},
		"parts with values": {
			plain(`{"content":[{"type":"text","text":{"value":"A"}},null,{"type":"tool_use"}]}`), "A", "",
		},
		"one part":          {plain(`{"content":{"type":"text","text":"A"}}`), "A", ""},
		"an object":         {plain(`{"content":{"grades":[]}}`), `{"grades":[]}`, ""},
		"no content":        {plain(`{"role":"assistant"}`), "", ""},
		"content null":      {plain(`{"content":null,"reasoning":null}`), "", ""},
		"reasoning":         {plain(`{"content":"A","reasoning":"R"}`), "A", "R"},
		"reasoning_content": {plain(`{"content":"A","reasoning_content":"R","reasoning":"R"}`), "A", "R"},
		"thinking":          {plain(`{"content":"A","thinking":"R"}`), "A", "R"},
		"details of reasoning": {
			plain(`{"content":"A","reasoning_details":[{"type":"reasoning.text","text":"R"}]}`), "A", "R",
		},
		"summaries": {
			plain(`{"content":"A","reasoning_details":[{"type":"reasoning.summary","summary":"R"}]}`), "A", "R",
		},
		"reasoning and a quote": {plain(`{"content":"say </think>!","reasoning":"R"}`), "say </think>!", "R"},
		"reasoning twice":       {plain(`{"content":"<think>R</think>A","reasoning":"R"}`), "A", "R"},
		"reasoning twice, in a channel": {
			plain(`{"content":"<|channel|>analysis<|message|>R<|channel|>final<|message|>A","thinking":"R"}`),
			"A", "R",
		},

		"a stream": {
			": hi\n\ndata: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n" +
				"data: {\"choices\":[{\"index\":0,\"delta\":{\"reasoning_content\":\"R\"}}],\"usage\":null}\n\n" +
				"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"A\"}}]}\n\n: still\n\n" +
				"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"B\"},\"finish_reason\":\"stop\"}]}\n\n" +
				"data: {\"choices\":[]," + usage + "}\n\ndata: [DONE]\n\n", "AB", "R",
		},
		"a stream without blank lines": {
			"event: message\r\ndata:{\"choices\":[{\"delta\":{\"content\":\"A\"}}]}\r\n" +
				"data:{\"choices\":[{\"delta\":{},\"finish_reason\":\"length\"}]," + usage + "}\r\n", "A", "",
		},
		"a whole answer as an event": {"id: 1\ndata: " + plain(`{"content":"A"}`) + "\n\n", "A", ""},
		"an event of two lines": {
			"data: {\"choices\":\ndata: [{\"message\":{\"content\":\"A\"}}]," + usage + "}\n\ndata: [DONE]", "A", "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := completeWith(t, Config{}, c.body)
			want := chat.Response{Texts: []string{c.text}, Usage: domain.Usage{Prompt: 5, Answer: 2}}
			want.Cut = strings.Contains(c.body, `"length"`)
			if c.thought != "" {
				want.Reasoning = []string{c.thought}
			}
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("Complete = %+v, %v, want %+v", got, err, want)
			}
		})
	}
}

func TestAnAnswerThatIsNotWholeIsAskedForAgain(t *testing.T) {
	for name, body := range map[string]string{
		"nothing":             "",
		"null":                "null",
		"a number":            "7",
		"choices null":        `{"choices":null}`,
		"choices of no list":  `{"choices":{"message":{"content":"A"}}}`,
		"a choice null":       `{"choices":[null]}`,
		"half an answer":      `{"choices":[{"message":{"content":"A"`,
		"a stream that stops": "data: {\"choices\":[{\"delta\":{\"content\":\"A\"}}]}\n\n",
		"half an event":       "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: {\"cho",
		"only comments":       ": PROCESSING\n\n: PROCESSING\n\n",
	} {
		t.Run(name, func(t *testing.T) {
			got, err := completeWith(t, Config{}, body)
			if err == nil || fault.KindOf(err) != fault.Transient {
				t.Errorf("Complete = %+v, %v, want a transient fault", got, err)
			}
		})
	}
}

func TestAModelThatRefusesToAnswerIsAFault(t *testing.T) {
	for name, body := range map[string]string{
		"refusal":        `{"choices":[{"message":{"content":null,"refusal":"I may not."},"finish_reason":"stop"}]}`,
		"a part":         `{"choices":[{"message":{"content":[{"type":"refusal","refusal":"I may not."}]}}]}`,
		"content_filter": `{"choices":[{"message":{"content":""},"finish_reason":"content_filter"}]}`,
	} {
		_, err := completeWith(t, Config{}, body)
		words := name == "content_filter" || err != nil && strings.Contains(err.Error(), "I may not.")
		if err == nil || fault.KindOf(err) != fault.Refused || !words {
			t.Errorf("%s: %v, want a refusal with the model's words", name, err)
		}
	}
}

// TestNoRequestIsBlockedByTheNameOfItsModel uses names that go-openai's client refuses without calling the server.
func TestNoRequestIsBlockedByTheNameOfItsModel(t *testing.T) {
	for _, model := range []string{
		"gpt-5", "gpt-5-mini", "gpt-5.2", "gpt-6-sol", "o1", "o3-mini", "o4-mini", "o1-like-7b", "text-davinci-003",
	} {
		base, _, sent := server(t, http.StatusOK, nil, answer)
		c := must(t, Config{BaseURL: base, Model: model, LogProbs: true})
		_, err := c.Complete(t.Context(), chat.Request{User: "u", MaxTokens: 7, Temperature: 0.2, TopP: 0.9, N: 1})
		if err != nil || sent["model"] != model {
			t.Errorf("%s: %v, the server was asked for %v, want the request sent", model, err, sent["model"])
		}
	}
}

func TestLogProbabilitiesAreThoseOfEveryTokenOrNone(t *testing.T) {
	const with = `{"choices":[{"message":{"content":"A"},"logprobs":%}]}`
	for probabilities, want := range map[string][]float64{
		`{"content":[{"logprob":-0.5},{"logprob":-1}]}`:   {-1.5},
		`{"content":[{"logprob":-0.5},{"logprob":null}]}`: nil,
		`{"content":null}`:       nil,
		`{"content":"none"}`:     nil,
		`null`:                   nil,
		`{"content":[]}`:         {0},
		`{"token_logprobs":[1]}`: nil,
	} {
		got, err := completeWith(t, Config{LogProbs: true}, strings.Replace(with, "%", probabilities, 1))
		if err != nil || !reflect.DeepEqual(got.LogProbs, want) {
			t.Errorf("%s: %v, %v, want %v", probabilities, got.LogProbs, err, want)
		}
	}
}

func TestTokensThatAServerDoesNotReportAreEstimated(t *testing.T) {
	q := chat.Request{
		System: strings.Repeat("s", 400),
		User:   strings.Repeat("u", 36),
		More:   []chat.Turn{{Text: "more"}},
		N:      1,
	}
	for usage, want := range map[string]domain.Usage{
		`null`: {Prompt: 110, Answer: 20, Estimated: true},
		`{}`:   {Prompt: 110, Answer: 20, Estimated: true},
		`"no"`: {Prompt: 110, Answer: 20, Estimated: true},
		`[]`:   {Prompt: 110, Answer: 20, Estimated: true},
		`{"prompt_tokens":0,"completion_tokens":0}`:                   {Prompt: 110, Answer: 20, Estimated: true},
		`{"prompt_tokens":-1,"completion_tokens":"NaN"}`:              {Prompt: 110, Answer: 20, Estimated: true},
		`{"prompt_tokens":7,"completion_tokens":null}`:                {Prompt: 7, Answer: 20, Estimated: true},
		`{"prompt_tokens":7.0,"completion_tokens":"3"}`:               {Prompt: 7, Answer: 3},
		`{"input_tokens":7,"output_tokens":3}`:                        {Prompt: 7, Answer: 3},
		`{"prompt_tokens":7,"completion_tokens":3,"total_tokens":10}`: {Prompt: 7, Answer: 3},
		`{"prompt_tokens":7,"completion_tokens":3,"prompt_cache_hit_tokens":5,"completion_tokens_details":null}`: {
			Prompt: 7, Cached: 5, Answer: 3,
		},
	} {
		base, _, _ := server(t, http.StatusOK, nil, `{"choices":[{"message":{"content":"`+strings.Repeat("a", 40)+
			`","reasoning":"`+strings.Repeat("r", 40)+`"}}],"usage":`+usage+`}`)
		got, err := must(t, Config{BaseURL: base, Model: "m"}).Complete(t.Context(), q)
		if err != nil || got.Usage != want {
			t.Errorf("usage %s: %+v, %v, want %+v", usage, got.Usage, err, want)
		}
	}
}

// FuzzDecode checks that any response of a server is an answer, or an error of a kind, whose size is bounded by the
// response.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		answer, "null", "{", `{"choices":[{"message":{"content":[{"type":"thinking","thinking":[{"text":"a"}]}]}}]}`,
		"data: {\"choices\":[{\"index\":1e300,\"delta\":{\"content\":\"A\"}}]}\n\ndata: [DONE]\n",
		`{"choices":[{"message":{"reasoning":{"a":1}},"logprobs":{"content":[{"logprob":-1}]}}]}`,
		`[{"error":{"code":429,"message":"m","details":[{"retryDelay":"3s"}]}}]`, ": c\n\n{\"error\":\"e\"}", "<html>",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		out, err := decode(body)
		if err != nil {
			if err.Error() == "" {
				t.Errorf("decode(%q) is an error without a text, want one", body)
			}

			return
		}

		size := 0
		for _, ch := range out.choices {
			thought, text := ch.split()
			size += len(thought) + len(text)
		}
		// A byte that is not UTF-8 becomes a replacement character of three bytes.
		if u := out.usage; size > 3*len(body) || min(u.prompt, u.cached, u.answer, u.thought) < 0 {
			t.Errorf("decode(%q) = %d bytes, %+v, want no more than was sent", body, size, out.usage)
		}
	})
}

// TestAnAnswerIsTakenFromAConnectionThatBreaksAfterIt covers servers that announce a longer body than they send.
func TestAnAnswerIsTakenFromAConnectionThatBreaksAfterIt(t *testing.T) {
	for body, whole := range map[string]bool{answer: true, answer[:len(answer)-9]: false} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "4096")
			_, _ = w.Write([]byte(body))
		}))
		_, err := must(t, Config{BaseURL: s.URL, Model: "m"}).Complete(t.Context(), ask)
		s.Close()
		if (err == nil) != whole || err != nil && fault.KindOf(err) != fault.Transient {
			t.Errorf("%q and a broken connection: %v, want it taken: %v", body, err, whole)
		}
	}
}

// TestAWellFormedAnswerYieldsWhatGoOpenAIReads keeps answers of policy servers unchanged, because records contain them
// bit by bit.
func TestAWellFormedAnswerYieldsWhatGoOpenAIReads(t *testing.T) {
	for _, body := range []string{
		answer,
		`{"id":"chatcmpl-collabui","object":"chat.completion","created":0,"model":"m","choices":[{"index":0,` +
			`"finish_reason":"length","message":{"role":"assistant","content":"Reason: a\u00e4\nAction: {\"a\":1}"},` +
			`"logprobs":{"content":[{"token":"a","logprob":-0.1,"top_logprobs":[]},` +
			`{"token":"b","logprob":-1.2345e-7},{"token":"c","logprob":-3.3}]}},` +
			`{"index":1,"finish_reason":"stop","message":{"role":"assistant","content":" b "},` +
			`"logprobs":{"content":[{"token":"a","logprob":-0}]}}],"usage":{"prompt_tokens":812,` +
			`"completion_tokens":31,"total_tokens":843,"prompt_tokens_details":{"cached_tokens":800}}}`,
		`{"choices":[{"index":0,"message":{"role":"assistant","content":"","reasoning_content":null},` +
			`"logprobs":{"content":null},"finish_reason":"stop","stop_reason":null}],` +
			`"usage":{"prompt_tokens":9,"completion_tokens":1,"completion_tokens_details":{"reasoning_tokens":1},` +
			`"prompt_tokens_details":null},"kv_transfer_params":null}`,
	} {
		var want openai.ChatCompletionResponse
		if err := json.Unmarshal([]byte(body), &want); err != nil {
			t.Fatal(err)
		}
		out, err := decode([]byte(body))
		if err != nil || len(out.choices) != len(want.Choices) {
			t.Fatalf("decode(%s) = %d choices, %v, want %d", body, len(out.choices), err, len(want.Choices))
		}

		got := (&Client{}).response(out)
		for i, ch := range want.Choices {
			if got.Texts[i] != ch.Message.Content {
				t.Errorf("text %d of %s is %q, want %q", i, body, got.Texts[i], ch.Message.Content)
			}
			if ch.LogProbs == nil {
				continue
			}

			sum := 0.0
			for _, token := range ch.LogProbs.Content {
				sum += token.LogProb
			}
			if math.Float64bits(got.LogProbs[i]) != math.Float64bits(sum) {
				t.Errorf("log-probability %d of %s is %v, want %v", i, body, got.LogProbs[i], sum)
			}
		}
		u := want.Usage
		if got.Usage.Prompt != u.PromptTokens || got.Usage.Answer != u.CompletionTokens || got.Usage.Estimated {
			t.Errorf("the usage of %s is %+v, want %+v", body, got.Usage, u)
		}
	}
}
