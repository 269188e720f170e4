package httpd

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestAllowedComparesTheBearerToken(t *testing.T) {
	for header, want := range map[string]bool{
		"Bearer secret": true,
		"bearer secret": true,
		"Bearer secre":  false,
		"Bearer":        false,
		"":              false,
		"Basic secret":  false,
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set("Authorization", header)

		if got := Allowed(r, func() string { return "old\nsecret" }); got != want {
			t.Errorf("Allowed(%q) = %v, want %v", header, got, want)
		}
		if !Allowed(r, nil) || !Allowed(r, func() string { return "" }) {
			t.Errorf("Allowed(%q) without a key = false, want true", header)
		}
	}
}

func TestRefusalsHaveTheBodyOfTheirAPI(t *testing.T) {
	wrong := &Refusal{Status: 404, Code: "model_not_found", Param: "model", Err: errors.New("no such model")}
	busy := &Refusal{Status: 503, After: 1500 * time.Millisecond, Err: errors.New("busy")}

	for name, c := range map[string]struct {
		write func(http.ResponseWriter)
		body  string
		after string
	}{
		"vllm": {wrong.WriteEngine, `{"error":{"code":404,"message":"no such model","type":"Not Found"}}`, ""},
		"openai": {
			wrong.WriteOpenAI,
			`{"error":{"code":"model_not_found","message":"no such model","param":"model",` +
				`"type":"invalid_request_error"}}`,
			"",
		},
		"retry": {
			busy.WriteOpenAI,
			`{"error":{"code":null,"message":"busy","param":null,"type":"server_error"}}`,
			"2",
		},
	} {
		t.Run(name, func(t *testing.T) {
			rec := httptest.NewRecorder()
			c.write(rec)

			if got := strings.TrimSpace(rec.Body.String()); got != c.body {
				t.Errorf("body %s, want %s", got, c.body)
			}
			if got := rec.Header().Get("Retry-After"); got != c.after {
				t.Errorf("Retry-After %q, want %q", got, c.after)
			}
		})
	}
}

func TestMetricsKeepNamesAndLabels(t *testing.T) {
	m := NewMetrics("some_server")
	m.Counter("loads_total", "Loads.").Add(2)
	m.Gauge("asleep", "Sleeps.", func() float64 { return 1 })
	m.Count("/v1/models", 200)
	m.Count("/\xff\"", 404) // a client may send any path

	rec := httptest.NewRecorder()
	m.Handler().ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	for _, want := range []string{
		"some_server_loads_total 2\n",
		"some_server_asleep 1\n",
		`some_server_requests_total{path="/v1/models",status="200"} 1` + "\n",
		`some_server_requests_total{path="/?\"",status="404"} 1` + "\n",
	} {
		if !strings.Contains(rec.Body.String(), want) {
			t.Errorf("metrics are\n%s\nwant %q in them", rec.Body, want)
		}
	}
}

func TestAnEmptyListOfModelsIsAList(t *testing.T) {
	rec := httptest.NewRecorder()
	WriteModels(rec, 0)

	if got, want := strings.TrimSpace(rec.Body.String()), `{"data":[],"object":"list"}`; got != want {
		t.Errorf("body %s, want %s", got, want)
	}
}
