package workers

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/collabui/collabui/envadapters/hosts"
	"github.com/collabui/collabui/internal/method/chat"
	"github.com/collabui/collabui/internal/method/spec"
)

func TestAModelsKeyChangesWithoutARestart(t *testing.T) {
	var sent []string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent = append(sent, r.Header.Get("Authorization")+" "+r.Header.Get("X-Team"))
		http.Error(w, "no", http.StatusBadRequest)
	}))
	t.Cleanup(srv.Close)
	key := filepath.Join(t.TempDir(), "key")
	write := func(secret string) {
		t.Helper()
		if err := os.WriteFile(key, []byte(secret), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("OTHER_API_KEY_FILE", key)
	m := spec.DefaultModel()
	m.BaseURL, m.Model, m.Key = srv.URL+"/v1", "x", "OTHER_API_KEY"
	m.Headers = map[string]string{"X-Team": "$OTHER_API_KEY"}
	c := &clients{known: map[string]chat.Model{}}
	for _, secret := range []string{"one", "one", "two"} {
		write(secret)
		client, err := c.connect(m)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = client.Complete(t.Context(), chat.Request{User: "hello"})
	}
	if want := []string{"Bearer one one", "Bearer one one", "Bearer two two"}; !slices.Equal(sent, want) {
		t.Errorf("the endpoint got %q, want %q", sent, want)
	}
	if len(c.known) != 2 {
		t.Errorf("there are %d clients, want one for each key", len(c.known))
	}
}

// TestModelsOfSpecificationsAreNamedByThem: their addresses are not this worker's own choice.
func TestModelsOfSpecificationsAreNamedByThem(t *testing.T) {
	t.Setenv(hosts.Env, hosts.Beyond)
	m := spec.DefaultModel()
	m.BaseURL, m.Model = "http://127.0.0.1:9/v1", "x"
	client, err := (&clients{known: map[string]chat.Model{}}).connect(m)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Complete(t.Context(), chat.Request{User: "hello"}); hosts.Refused(err) == nil {
		t.Errorf("a model on the loopback: %v, want a refusal", err)
	}
}
