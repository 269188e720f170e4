package llm

import (
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"testing"
	"time"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/chat"
)

func TestAnErrorWithAStatusOfSuccessIsOne(t *testing.T) {
	const spoken = "the words"
	words := regexp.MustCompile(`":"([^"]*)"}`)
	for _, x := range []refusalCase{
		{body: `{"error":{"code":402,"message":"the words"},"user_id":"u"}`, kind: fault.Invalid},
		{body: `{"error":{"code":"401","message":"the words"}}`, kind: fault.Invalid},
		{body: `{"error":{"code":429,"message":"the words"}}`, kind: fault.Throttled},
		{body: `{"error":{"code":503,"message":"the words"}}`, kind: fault.Transient},
		{body: `{"error":{"code":400.0,"message":"the words"}}`, kind: fault.Refused},
		{body: `{"error":{"status":404,"message":"the words"}}`, kind: fault.Invalid},
		{body: `{"status":500,"error":"the words"}`, kind: fault.Transient},
		{body: `{"statusCode":429,"message":"the words"}`, kind: fault.Throttled},
		{body: `{"code":422,"detail":"the words"}`, kind: fault.Refused},
		{body: `{"type":"about:blank","title":"Forbidden","status":403,"detail":"the words"}`, kind: fault.Invalid},
		{body: `{"error":{"type":"authentication_error","message":"the words"}}`, kind: fault.Invalid},
		{body: `{"type":"error","error":{"type":"overloaded_error","message":"the words"}}`, kind: fault.Transient},
		{body: `{"error":{"type":"RateLimitError","message":"the words"}}`, kind: fault.Throttled},
		{
			kind: fault.Invalid,
			body: `{"error":{"type":"invalid_request_error","code":"invalid_api_key","message":"the words"}}`,
		},
		{body: `{"error":{"type":"invalid_request_error","message":"the words"}}`, kind: fault.Refused},
		{body: `{"__type":"ThrottlingException","message":"the words"}`, kind: fault.Throttled},
		{body: `{"error":"the words"}`, kind: fault.Transient},
		{body: `{"detail":"the words"}`, kind: fault.Transient},
		{body: `{"error":{"code":0,"message":"the words"},"choices":[{"message":{}}]}`, kind: fault.Transient},
		{body: `{"message":"the words","choices":[]}`, kind: fault.Transient},
		{body: `<html><title>the words</title></html>`, kind: fault.Transient},
		{body: `the words`, kind: fault.Transient},
		{body: `[{"error":{"code":403,"message":"the words","status":"PERMISSION_DENIED"}}]`, kind: fault.Invalid},
		{body: ": PROCESSING\n\ndata: {\"error\":{\"code\":402,\"message\":\"the words\"}}\n\n", kind: fault.Invalid},
		{
			body: `{"choices":[{"error":{"code":502,"message":"the words"},"message":{"content":"ha"}}]}`,
			kind: fault.Transient,
		},
		{
			body: "data: {\"choices\":[{\"delta\":{\"content\":\"A\"}}]}\n\n" +
				"data: {\"error\":{\"code\":429,\"message\":\"the words\"}," +
				"\"choices\":[{\"delta\":{},\"finish_reason\":\"error\"}]}\n\ndata: [DONE]\n",
			kind: fault.Throttled,
		},
	} {
		x.status, x.words = http.StatusOK, spoken
		x.check(t)
	}
	for body, kind := range map[string]fault.Kind{
		`{"error":"invalid api key"}`:                                                           fault.Invalid,
		`{"error":"Incorrect API key provided"}`:                                                fault.Invalid,
		`{"error":"Your API key is invalid or has expired"}`:                                    fault.Invalid,
		`{"error":{"message":"The api_key is required"}}`:                                       fault.Invalid,
		`{"message":"Authentication failed"}`:                                                   fault.Invalid,
		`{"detail":"Not authenticated"}`:                                                        fault.Invalid,
		`{"error":"You do not have access to it"}`:                                              fault.Invalid,
		`{"error":"You exceeded your current quota, check your plan"}`:                          fault.Invalid,
		`{"msg":"Not enough credits"}`:                                                          fault.Invalid,
		`{"error":"model 'a' not found, try pulling it first"}`:                                 fault.Invalid,
		`{"error":{"message":"The model gpt-9 does not exist"}}`:                                fault.Invalid,
		`{"error_code":17,"error_msg":"Open api daily request limit reached"}`:                  fault.Invalid,
		`{"error_code":18,"error_msg":"Open api qps request limit reached"}`:                    fault.Throttled,
		`{"error_code":336100,"error_msg":"try again"}`:                                         fault.Transient,
		`{"base_resp":{"status_code":1008,"status_msg":"insufficient balance"},"choices":null}`: fault.Invalid,
		`{"base_resp":{"status_code":1002,"status_msg":"rate limit"},"choices":null}`:           fault.Throttled,
		`{"base_resp":{"status_code":1000,"status_msg":"unknown error"},"choices":null}`:        fault.Transient,
		`{"error":"Rate limit reached"}`:                                                        fault.Throttled,
		`{"error":"the prompt is too long: 9000 tokens"}`:                                       fault.Refused,
		`{"error":"the key of the cache was not found"}`:                                        fault.Transient,
		`{"error":"the model is loading"}`:                                                      fault.Transient,
		`{"error":"CUDA out of memory"}`:                                                        fault.Transient,
		`{"error":"something went wrong, authentication server down"}`:                          fault.Transient,
	} {
		spoken := words.FindStringSubmatch(body)[1]
		refusalCase{status: 200, body: body, kind: kind, words: spoken}.check(t)
	}
	refusalCase{status: 200, body: `{"error":"Unauthorized"}`, kind: fault.Invalid, words: "Unauthorized"}.check(t)
	refusalCase{status: 200, body: `{"detail":"Not Found"}`, kind: fault.Invalid, words: "Not Found"}.check(t)
	refusalCase{status: 202, body: `{"error":{"code":429}}`, kind: fault.Throttled, words: "429"}.check(t)
	refusalCase{status: 303, body: `the words`, kind: fault.Invalid, words: spoken}.check(t)
}

func TestNamesOfErrorsSayWhatTheirStatusDoesNot(t *testing.T) {
	for _, x := range []refusalCase{
		{
			status: 429, kind: fault.Invalid, words: "no quota",
			body: `{"error":{"type":"insufficient_quota","message":"w"}}`,
		},
		{
			status: 429, kind: fault.Invalid, words: "no quota",
			body: `{"error":{"type":"exceeded_current_quota_error","message":"w"}}`,
		},
		{status: 400, body: `{"code":"Arrearage","message":"w"}`, kind: fault.Invalid, words: "no quota"},
		{
			status: 400, kind: fault.Invalid, words: "no quota",
			body: `{"error":{"code":"billing_hard_limit_reached","message":"w"}}`,
		},
		{status: 402, body: `Insufficient Balance`, kind: fault.Invalid, words: "no quota"},
		{
			status: 400, kind: fault.Invalid, words: "refuses the key",
			body: `[{"error":{"code":400,"status":"INVALID_ARGUMENT","details":[{"reason":"API_KEY_INVALID"}]}}]`,
		},
		{
			status: 403, kind: fault.Refused, words: "flagged",
			body: `{"error":{"code":403,"message":"flagged","metadata":{"flagged_input":"x","reasons":["violence"]}}}`,
		},
		{status: 400, body: `{"error":{"code":"content_filter","message":"w"}}`, kind: fault.Refused, words: "w"},
		{ // llama.cpp
			status: 500, kind: fault.Refused, words: "500 Internal Server Error: image input is not supported",
			body: `{"error":{"code":500,"message":"image input is not supported - hint: if this is unexpected, you ` +
				`may need to provide the mmproj","type":"server_error"}}`,
		},
		{
			status: 500, kind: fault.Refused, words: "does not support",
			body: `{"error":{"message":"the model does not support tools","type":"api_error"}}`,
		},
		{
			status: 500, kind: fault.Transient, words: "CUDA",
			body: `{"error":{"message":"CUDA error: operation not supported","type":"server_error"}}`,
		},
		{
			status: 498, kind: fault.Transient, words: "Flex capacity",
			body: `{"error":{"message":"Flex capacity exceeded","code":"flex_tier_capacity_exceeded"}}`,
		},
		{status: 498, body: `Flex capacity exceeded`, kind: fault.Transient, words: "Flex capacity"},
		{status: 498, body: `{"error":{"type":"invalid_api_key"}}`, kind: fault.Invalid, words: "refuses the key"},
		{
			status: 400, kind: fault.Throttled, words: "rate exceeded",
			body: `{"error":{"code":"Throttling.RateQuota","message":"Throttling: rate exceeded"}}`,
		},
		{
			status: 400, body: `{"message":"Rate exceeded"}`, kind: fault.Throttled, words: "Rate exceeded",
			header: map[string]string{"X-Amzn-Errortype": "ThrottlingException:http://internal.amazon.com/coral/"},
		},
		{status: 400, body: `{"__type":"ThrottlingException"}`, kind: fault.Throttled},
		{status: 403, body: `{"error":{"errors":[{"reason":"userRateLimitExceeded"}]}}`, kind: fault.Throttled},
		{status: 400, body: `{"error":{"type":"overloaded_error","message":"w"}}`, kind: fault.Transient, words: "w"},
		{ // Groq, to a request that is larger than the limit
			status: 413, kind: fault.Refused, words: "too large",
			body: `{"error":{"message":"Request too large","type":"tokens","code":"rate_limit_exceeded"}}`,
		},
		{
			status: 400, kind: fault.Invalid, words: "or model",
			body: `{"error":{"message":"w","type":"invalid_request_error","code":"model_not_found"}}`,
		},
		{status: 400, body: `{"error":{"code":"file_not_found"}}`, kind: fault.Refused},
		{
			status: 403, kind: fault.Invalid, words: "with a web page",
			body: "<!DOCTYPE html><html><title>Just a moment...</title></html>",
		},
		{status: 403, body: `{"error":"no"}`, kind: fault.Invalid, words: "refuses the key"},
		{status: 503, body: `{"error":"the image is not supported now"}`, kind: fault.Transient, words: "image"},
	} {
		x.check(t)
	}
}

// TestPagesInPlaceOfAnswersAskAPersonIfTheyLast covers pages that a proxy shows while the server behind it is down.
func TestPagesInPlaceOfAnswersAskAPersonIfTheyLast(t *testing.T) {
	body := "<!DOCTYPE html><html><title>We are back soon</title></html>"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, body)
	}))
	defer server.Close()
	c := must(t, Config{BaseURL: server.URL, Model: "m"})
	now := time.Now()
	c.now = func() time.Time { return now }
	asks := func(want fault.Kind) {
		t.Helper()
		_, err := c.Complete(t.Context(), chat.Request{User: "u", N: 1})
		if err != nil && fault.KindOf(err) != want || (err == nil) != (want == "") {
			t.Errorf("Complete = %v, want kind %q", err, want)
		}
	}

	for range 2 * lastingPages {
		asks(fault.Transient)
	}
	now = now.Add(lastingTime)
	asks(fault.Invalid)
	page := body
	body = answer
	asks("")
	body = page
	asks(fault.Transient)
	now = now.Add(lastingTime)
	asks(fault.Transient)
	asks(fault.Invalid)
	body = `<html><form><input name="p" type="password"></form></html>`
	c = must(t, Config{BaseURL: server.URL, Model: "m"})
	asks(fault.Invalid)
}
