package endpoints_test

import (
	"strings"
	"testing"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/chat"
	"github.com/collabui/collabui/internal/method/prompts"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/policy/endpoints"
	"github.com/collabui/collabui/internal/policy/llm"
)

func TestTheVariableOfASecretThatNoRequestCanCarryIsNamed(t *testing.T) {
	s := run()
	m := s.Models["judge"]
	m.Key, m.Headers = "JUDGE_API_KEY", map[string]string{"X-A": "$OTHER_API_KEY", "X-B": "b"}
	s.Models["judge"] = m
	const broken = "zz9\nplural"
	for want, conf := range map[string]llm.Config{
		"JUDGE_API_KEY or JUDGE_API_KEY_FILE: ": {Key: func() string { return broken }},
		"OTHER_API_KEY or OTHER_API_KEY_FILE: ": {Headers: map[string]string{"X-A": broken}},
		"headers.X-B: ":                         {Headers: map[string]string{"X-B": broken}},
	} {
		e := &endpoints.Endpoints{Connect: func(m spec.Model) (chat.Model, error) {
			conf.BaseURL = m.BaseURL

			return llm.New(conf)
		}}
		_, _, err := e.Trial(s, "judge", prompts.Critic)
		if err == nil || fault.KindOf(err) != fault.Invalid || !strings.HasPrefix(err.Error(), want) ||
			strings.Contains(err.Error(), "zz9") {
			t.Errorf("Trial = %v, want an invalid fault that begins with %q and shows no value", err, want)
		}
	}
}
