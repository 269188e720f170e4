package gateway

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/collabui/collabui/internal/policy/aliases"
	"github.com/collabui/collabui/internal/store/lines"
	"github.com/collabui/collabui/internal/store/runs"
	"github.com/collabui/collabui/test/kit/fakeengine"
)

// promote makes the line accept a system of some policies.
func (s *stage) promote(after, epoch int, policies ...string) {
	e := lines.Entry{Verb: lines.Promote, Who: "ann", System: lines.System{Run: "r", Epoch: epoch}}
	for _, digest := range policies {
		e.System.Policies = append(e.System.Policies, runs.Policy{Digest: digest})
	}
	if _, err := lines.Line("mobile").Append(s.t.Context(), s.bucket, after, e); err != nil {
		s.t.Fatal(err)
	}
}

func TestAGatewayFollowsALineWithoutAFailedRequest(t *testing.T) {
	s := setUp(t, &fakeengine.Engine{}, func(o *Options) { o.Aliases = aliases.New([]string{"mobile"}) })
	s.promote(0, 1, s.lora("a"), s.lora("b")) // adapters that answer with these letters
	go s.gate.Run(t.Context())

	ask := func(agent int) (int, string) {
		body := fmt.Sprintf(`{"model": "mobile/%d", "messages": [{"role": "user", "content": "x"}]}`, agent)
		status, text, _ := s.post("/v1/chat/completions", body)

		return status, text
	}
	for status := 0; status != http.StatusOK; status, _ = ask(1) { // until the first system is loaded
		time.Sleep(5 * time.Millisecond)
	}
	if _, text := ask(1); !strings.Contains(text, `"content":"b"`) {
		t.Errorf("mobile/1 answers %s, want b", text)
	}

	s.promote(1, 2, s.lora("c"), s.lora("d"))
	for asked := 0; ; asked++ {
		status, text := ask(asked % 2)
		if status != http.StatusOK {
			t.Fatalf("request %d is answered with %d: %s; want no failure while the line moves", asked, status, text)
		}
		if asked%2 == 1 && strings.Contains(text, `"content":"d"`) {
			break
		}
		if asked > 10_000 {
			t.Fatalf("agent %d still answers %s, want c or d", asked%2, text)
		}
		time.Sleep(time.Millisecond)
	}
	if _, text, _ := s.ask(http.MethodGet, "/v1/models", "", ""); !strings.Contains(text, `"mobile/1"`) {
		t.Errorf("the models are %s, want the aliases among them", text)
	}
	if status, text := ask(2); status != http.StatusNotFound {
		t.Errorf("an agent that the line lacks is answered with %d: %s, want 404", status, text)
	}
}
