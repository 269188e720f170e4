package llm

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/collabui/collabui/envadapters/hosts"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/chat"
	"github.com/collabui/collabui/test/kit/nameserver"
)

// TestModelsOfASpecificationAreAtHostsThatThisProcessMayReach checks that base_url and proxy lead nowhere else, and
// that no call is repeated. The operator of the worker names the policy servers, so they are not restricted.
func TestModelsOfASpecificationAreAtHostsThatThisProcessMayReach(t *testing.T) {
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.WriteHeader(http.StatusTeapot)
	}))
	t.Cleanup(server.Close)
	nameserver.Start(t, map[string]string{"cloud.example": "169.254.169.254", "api.example": "192.0.2.9"})
	t.Setenv(hosts.Env, hosts.Beyond)

	complete := func(c Config) error {
		t.Helper()
		client, err := New(c)
		if err != nil {
			t.Fatal(err)
		}
		_, err = client.Complete(t.Context(), chat.Request{User: "hello"})

		return err
	}
	for _, c := range []Config{
		{BaseURL: server.URL + "/v1"},
		{BaseURL: "http://cloud.example/v1"},
		{BaseURL: "https://169.254.169.254/v1"},
		{BaseURL: "http://2852039166/v1"},
		{BaseURL: "http://api.example/v1", Proxy: server.URL},
		{BaseURL: "http://api.example/v1", Proxy: "http://169.254.169.254:3128"},
		{BaseURL: "http://api.example/v1", Proxy: "socks5://cloud.example:1080"},
	} {
		c.Model, c.Named = "m", true
		err := complete(c)
		if fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), "model m: base_url or proxy: ") {
			t.Errorf("%s by %q: %v (%s), want an invalid fault with model and field", c.BaseURL, c.Proxy, err,
				fault.KindOf(err))
		}
	}
	if n := asked.Load(); n != 0 {
		t.Errorf("the server got %d requests, want none", n)
	}
	err := complete(Config{BaseURL: server.URL + "/v1", Model: "m"})
	if hosts.Refused(err) != nil || asked.Load() == 0 {
		t.Errorf("a policy server: %v after %d requests, want an answer", err, asked.Load())
	}
	t.Setenv(hosts.Env, "localhost")
	if err := complete(Config{BaseURL: server.URL + "/v1", Model: "m", Named: true}); hosts.Refused(err) != nil {
		t.Errorf("a listed server: %v, want an answer", err)
	}
}
