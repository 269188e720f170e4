package workers

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	commonpb "go.temporal.io/api/common/v1"

	"github.com/collabui/collabui/internal/payloads"
)

func TestTheCodecServerDecryptsForTheTemporalUIOnly(t *testing.T) {
	const ui, secret = "https://ui.example", "what nobody else may read"
	codec, err := payloads.Fixed("one=" + base64.StdEncoding.EncodeToString(make([]byte, 32)))
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := codec.Converter().ToPayload(secret)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(&commonpb.Payloads{Payloads: []*commonpb.Payload{sealed}})
	if err != nil {
		t.Fatal(err)
	}
	h := decodes(codec, ui, func() string { return "the-key\nthe-next" })
	for _, c := range []struct {
		name, method, path, origin, key string
		status                          int
		allowed, read                   bool
	}{
		{"the UI asks whether it may", http.MethodOptions, "/decode", ui, "", http.StatusNoContent, true, false},
		{"the UI", http.MethodPost, "/decode", ui, "the-key", http.StatusOK, true, true},
		{"without the key", http.MethodPost, "/decode", ui, "", http.StatusUnauthorized, true, false},
		{"the UI with the next key", http.MethodPost, "/decode", ui, "the-next", http.StatusOK, true, true},
		{"with another key", http.MethodPost, "/decode", ui, "x", http.StatusUnauthorized, true, false},
		{"another page asks", http.MethodOptions, "/decode", "https://x.example", "", http.StatusNoContent, false, false},
		{"a person opens it without the key", http.MethodGet, "/", "", "", http.StatusUnauthorized, false, false},
		{"a person opens it", http.MethodGet, "/", "", "the-key", http.StatusOK, false, false},
		{"it encrypts nothing", http.MethodPost, "/encode", ui, "the-key", http.StatusNotFound, true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := httptest.NewRequest(c.method, c.path, strings.NewReader(string(raw)))
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Origin", c.origin)
			if c.key != "" {
				r.SetBasicAuth("anyone", c.key)
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if w.Code != c.status {
				t.Errorf("got status %d, want %d: %s", w.Code, c.status, w.Body)
			}
			if got := w.Header().Get("Access-Control-Allow-Origin") == ui; got != c.allowed {
				t.Errorf("the page may read the answer: %v, want %v", got, c.allowed)
			}
			var out commonpb.Payloads
			read := ""
			if json.Unmarshal(w.Body.Bytes(), &out) == nil && len(out.Payloads) == 1 {
				_ = codec.Converter().FromPayload(out.Payloads[0], &read)
			}
			if (read == secret) != c.read {
				t.Errorf("the answer says %q, want the secret: %v", read, c.read)
			}
		})
	}
}
