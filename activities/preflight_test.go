package activities

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/collabui/collabui/internal/method/chat"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/policy/endpoints"
	"github.com/collabui/collabui/internal/policy/llm"
)

func TestAModelThatSaysNothingIsRefused(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // then the server notices when the caller has gone
		<-r.Context().Done()
	}))
	defer srv.Close()
	e := &endpoints.Endpoints{Connect: func(m spec.Model) (chat.Model, error) {
		return llm.New(llm.Config{BaseURL: srv.URL + "/v1", Model: m.Model, Timeout: time.Minute})
	}}
	s := spec.Default()
	s.Models = map[spec.Role]spec.Model{"judge": {Model: "m"}}

	var o obstacles
	checkModel(t.Context(), e, s, "judge", false, map[string]bool{}, &o)
	if len(o) != 1 || o[0].Warning || !strings.Contains(o[0].Why, "--no-probe") {
		t.Errorf("checkModel noted %+v, want one obstacle that names --no-probe and is no warning", o)
	}
	o = nil
	checkModel(t.Context(), e, s, "judge", true, map[string]bool{}, &o)
	if len(o) != 0 {
		t.Errorf("checkModel without a probe noted %+v, want nothing", o)
	}
}
