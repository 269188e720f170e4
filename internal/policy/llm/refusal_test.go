package llm

import (
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/chat"
)

// refusalCase is a server's response and the fault that it must lead to.
type refusalCase struct {
	status int
	header map[string]string
	body   string
	kind   fault.Kind
	after  time.Duration
	words  string // part of the server's message, in the error
}

// check calls a server that responds in this way.
func (x refusalCase) check(t *testing.T) {
	t.Helper()
	base, _, _ := server(t, x.status, x.header, x.body)
	_, err := must(t, Config{BaseURL: base, Model: "m"}).Complete(t.Context(), chat.Request{User: "u", N: 1})
	if err == nil || fault.KindOf(err) != x.kind || fault.RetryAfter(err) != x.after {
		t.Errorf("%d %s: %v, kind %s, after %v, want kind %s, after %v",
			x.status, x.body, err, fault.KindOf(err), fault.RetryAfter(err), x.kind, x.after)
	} else if !strings.Contains(err.Error(), x.words) {
		t.Errorf("%d %s: %v, want the words %q", x.status, x.body, err, x.words)
	}
}

func TestTheStatusDecidesWhateverTheBodysForm(t *testing.T) {
	for status, kind := range map[int]fault.Kind{
		400: fault.Refused, 401: fault.Invalid, 402: fault.Invalid, 403: fault.Invalid, 404: fault.Invalid,
		405: fault.Invalid, 408: fault.Transient, 409: fault.Transient, 413: fault.Refused, 422: fault.Refused,
		425: fault.Transient, 429: fault.Throttled, 431: fault.Invalid, 500: fault.Transient, 502: fault.Transient,
		504: fault.Transient, 524: fault.Transient, 529: fault.Transient, 498: fault.Transient, 501: fault.Invalid,
		505: fault.Invalid, 511: fault.Invalid, 525: fault.Invalid, 526: fault.Invalid,
	} {
		for _, body := range []string{
			`{"error":"the words"}`,
			`{"error":{"message":"the words","code":null,"type":null,"param":7}}`,
			`{"error":{"message":["the words"],"type":["x"]}}`,
			`{"error":{"message":{"detail":[{"type":"extra_forbidden","loc":["body","seed"],"msg":"the words"}]}}}`,
			`{"errors":[{"code":10000,"message":"the words"}],"success":false}`,
			`{"object":"error","message":"the words","param":null,"code":40001}`,
			`{"detail":"the words"}`,
			`{"detail":[{"loc":["body","max_tokens"],"msg":"the words"}]}`,
			`{"Message":"the words"}`,
			`{"fault":{"faultstring":"the words"}}`,
			`{"nobody":{"knows":"the words"}}`,
			`[{"error":{"message":"the words"}}]`,
			`["the words"]`,
			`"the words"`,
			`the words`,
			"\ufeff\n<!doctype html><style>p{}</style><title>the words</title><script>if (a<b) {}</script></html>",
			"<?xml version=\"1.0\"?><Error><Code>Slow</Code><Message>the words</Message></Error>",
			"event: error\ndata: {\"error\":{\"message\":\"the words\"}}\n\n",
			`{"error":{"message":"{\"error\":{\"message\":\"the words\"}}"}}`,
			`{"error":{"message":"the words","cut":"` + strings.Repeat("x", 70_000),
		} {
			refusalCase{status: status, body: body, kind: kind, words: "the words"}.check(t)
		}
	}
}

func TestTheMemberThatARefusalIsAboutIsNamed(t *testing.T) {
	refusalCase{
		status: 422, body: `{"detail":[{"loc":["body","messages",0],"msg":"the words"}]}`, kind: fault.Refused,
		words: "the words (body.messages.0)",
	}.check(t)
}

// TestScoresAreRefusedAsAnswersAre checks that refusals of both kinds of requests are parsed and classified alike.
func TestScoresAreRefusedAsAnswersAre(t *testing.T) {
	for body, kind := range map[string]fault.Kind{
		`{"error":{"code":402,"message":"the words"}}`: fault.Invalid,
		`{"error":"the words"}`:                        fault.Transient,
		`{"detail":"the words","status":429}`:          fault.Throttled,
	} {
		base, _, _ := server(t, http.StatusOK, nil, body)
		c := must(t, Config{BaseURL: base, Model: "m"})
		_, err := c.Score(t.Context(), chat.ScoreRequest{Model: "m", Answers: []string{"a"}})
		if err == nil || fault.KindOf(err) != kind || !strings.Contains(err.Error(), "the words") {
			t.Errorf("Score after %s: %v of kind %s, want kind %s and the words", body, err, fault.KindOf(err), kind)
		}
	}
}

func TestRetryAfterCountsInEveryShape(t *testing.T) {
	const sent = "Wed, 21 Oct 2015 07:28:00 GMT"
	for _, x := range []struct {
		name, value, body string
		want              time.Duration
	}{
		{"Retry-After", "7", ``, 7 * time.Second},
		{"Retry-After", "1.5", ``, 1500 * time.Millisecond},
		{"Retry-After", " 30 ", ``, 30 * time.Second},
		{"Retry-After", "30s", ``, 30 * time.Second},
		{"Retry-After", "1m30s", ``, 90 * time.Second},
		{"Retry-After", "Wed, 21 Oct 2015 07:29:00 GMT", ``, time.Minute},
		{"Retry-After", "Wednesday, 21-Oct-15 07:28:10 GMT", ``, 10 * time.Second},
		{"Retry-After", "2015-10-21T07:28:05Z", ``, 5 * time.Second},
		{"Retry-After", "Wed, 21 Oct 2015 07:00:00 GMT", ``, 0},
		{"Retry-After", "99999999999999999999", ``, maxDelay},
		{"Retry-After", "-3", ``, 0},
		{"Retry-After", "soon", ``, 0},
		{"Retry-After", "0", `{"error":"try again in 3s"}`, 3 * time.Second},
		{"retry-after-ms", "250", ``, 250 * time.Millisecond},
		{"retry-after-ms", "1200.5", ``, 1200500 * time.Microsecond},
		{"", "", `[{"error":{"details":[{"@type":"RetryInfo","retryDelay":"34.5s"}]}}]`, 34500 * time.Millisecond},
		{"", "", `{"error":{"details":[{"retryDelay":{"seconds":34}}]}}`, 34 * time.Second},
		{"", "", `{"retry_after":12}`, 12 * time.Second},
		{"", "", `{"retry_after_ms": "400"}`, 400 * time.Millisecond},
		{"", "", `{"error":{"metadata":{"raw":"{\"retryDelay\": \"3s\"}"}}}`, 3 * time.Second},
		{"", "", `{"error":{"message":"Rate limit. Please try again in 1.2s. Visit"}}`, 1200 * time.Millisecond},
		{"", "", `{"error":{"message":"Please try again in 120ms."}}`, 120 * time.Millisecond},
		{"", "", `{"error":{"message":"Please try again in 6m0s."}}`, 6 * time.Minute},
		{"", "", `{"error":{"message":"Please retry after 34 seconds."}}`, 34 * time.Second},
		{"", "", `{"error":"wait for at least 2 minutes"}`, 2 * time.Minute},
		{"", "", `Try again in 1 hour and 2 minutes`, 62 * time.Minute},
		{"", "", `retry 3 times`, 0},
		{"", "", `try again later`, 0},
	} {
		header := http.Header{"Date": {sent}}
		if x.name != "" {
			header.Set(x.name, x.value)
		}
		if got := delayOf(header, []byte(x.body), time.Now()); got != x.want {
			t.Errorf("%s: %s %s: %v, want %v", x.name, x.value, x.body, got, x.want)
		}
	}

	for _, x := range []refusalCase{
		{status: 429, body: `{"error":"try again in 1.2s"}`, kind: fault.Throttled, after: 1200 * time.Millisecond},
		{status: 529, header: map[string]string{"Retry-After": "4"}, kind: fault.Throttled, after: 4 * time.Second},
		{
			status: 429, header: map[string]string{"Retry-After": "86399"}, body: "free-models-per-day",
			kind: fault.Throttled, after: 86399 * time.Second, words: "asked to wait 23h59m59s, until 2",
		},
		{
			status: 503, header: map[string]string{"Retry-After": "7"}, body: "w",
			kind: fault.Throttled, after: 7 * time.Second, words: "asked to wait 7s: 503 Service Unavailable: w",
		},
		{status: 500, body: `try again in 5 seconds`, kind: fault.Throttled, after: 5 * time.Second},
		{
			status: 200, kind: fault.Throttled, after: 2 * time.Second,
			body: `{"error":{"code":429,"message":"retry in 2s"}}`,
		},
		{
			status: 200, kind: fault.Throttled, after: 2 * time.Second,
			body: `{"error":"slow down: retry after 2 seconds"}`,
		},
		{status: 400, header: map[string]string{"Retry-After": "4"}, kind: fault.Refused},
	} {
		x.check(t)
	}
}

func TestNoErrorShowsAKey(t *testing.T) {
	const key = "canary-7f3a9"
	conf := Config{
		Model:   "m",
		Key:     func() string { return key },
		Headers: map[string]string{"X-Api-Key": "header-canary"},
	}
	for _, body := range []string{
		`{"error":{"message":"Incorrect API key provided: canary-7f3a9. Find yours at"}}`,
		`{"error":"Bearer canary-7f3a9 is unknown"}`,
		`{"error":{"message":"x","metadata":{"raw":"{\"headers\":{\"authorization\":\"Bearer canary-of-another\"}}"}}}`,
		`the key sk-proj-canary123 has expired, so has sk-ca*****nary`,
		`https://h/v1?key=AIzaSycanary0123456789canary&api_key=canary2`,
		`<html><title>canary-7f3a9</title>x-api-key: header-canary</html>`,
		`{"detail":"token=canary12345 authorization: Basic canary99=="}`,
		`{"error":"\u0063anary-7f3a9"}`,
		strings.Repeat("x ", maxReason/2-4) + key,
	} {
		for _, status := range []int{200, 400, 401, 403, 429, 500} {
			base, _, _ := server(t, status, nil, body)
			conf.BaseURL = base
			_, err := must(t, conf).Complete(t.Context(), chat.Request{User: "u", N: 1})
			if err == nil || strings.Contains(err.Error(), "canary") {
				t.Errorf("%d %s: %v, want an error without the key", status, body, err)
			}
			if err := must(t, conf).Load(t.Context(), "p"); status != 200 && strings.Contains(err.Error(), "canary") {
				t.Errorf("Load: %d %s: %v, want an error without the key", status, body, err)
			}
		}
	}
}

// FuzzRefusal checks that any response of a server leads to a fault with a kind, a short text of one line without the
// key, and a delay within bounds.
func FuzzRefusal(f *testing.F) {
	for _, seed := range []string{
		`{"error":{"code":402,"message":"m"}}`, `{"error":"e"}`, `{"detail":[{"loc":["a",1],"msg":"m"}]}`,
		`[{"error":{"code":"429","details":[{"retryDelay":"34s"}]}}]`, `try again in 1.2s`,
		`{"error":{"message":"{\"a\":1}"}}`, `<html><script>`,
		"data: {\"error\":{}}\n\n", `Bearer canary-7f3a9`, `wait 999999999999h 5m`,
	} {
		f.Add(200, "", []byte(seed))
		f.Add(429, "3", []byte(seed))
	}
	c, err := New(Config{BaseURL: "http://h/v1", Model: "m", Key: func() string { return "canary-7f3a9" }})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, status int, after string, body []byte) {
		no := c.refusalOf(status, http.Header{"Retry-After": {after}}, body)
		err := c.classify(no, "m")
		text := no.Error()
		if text == "" || strings.Contains(text, "canary-7f3a9") || strings.Contains(text, "\n") ||
			utf8.RuneCountInString(no.words) > maxReason {
			t.Errorf("%d %q: the text is %q, want one short line without the key", status, body, text)
		}
		if no.delay < 0 || no.delay > maxDelay {
			t.Errorf("%d %q: after %v, want 0 to %v", status, body, no.delay, maxDelay)
		}
		if kind := fault.KindOf(err); kind == fault.Fatal || statusOf(err) != no.status {
			t.Errorf("%d %q: kind %s of %v, want one that says what to do", status, body, kind, err)
		}
	})
}
