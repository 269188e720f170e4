package supervisor

import (
	"slices"
	"testing"

	"github.com/collabui/collabui/internal/config"
)

// TestServicesSeeNoKeys expects that Temporal, the S3 server and Redis get only keys of their own, because they call no
// model.
func TestServicesSeeNoKeys(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "canary")
	t.Setenv("COLLABUI_WEBHOOK", "canary")
	t.Setenv("COLLABUI_PAYLOAD_KEYS", "canary")
	t.Setenv("GOGC", "50")
	s := &Supervisor{ends: config.Endpoints{PolicyKey: "canary"}}
	for at, want := range map[stage]bool{services: false, processes: true} {
		got := s.environ(unit{stage: at, env: []string{config.EnvSecret + "=own"}})
		for _, variable := range []string{
			"OPENAI_API_KEY=canary", "COLLABUI_WEBHOOK=canary", "COLLABUI_PAYLOAD_KEYS=canary",
			config.EnvPolicyKey + "=canary",
		} {
			if slices.Contains(got, variable) != want {
				t.Errorf("a process of stage %v sees %s: %v, want %v", at, variable, !want, want)
			}
		}
		for _, variable := range []string{"GOGC=50", config.EnvSecret + "=own"} {
			if !slices.Contains(got, variable) {
				t.Errorf("a process of stage %v sees %v, want %s", at, got, variable)
			}
		}
	}
}
