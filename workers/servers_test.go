package workers

import (
	"slices"
	"strings"
	"testing"
)

func TestAWorkerListensForOneRoleAtMost(t *testing.T) {
	for _, c := range []struct {
		roles, server, queues, problem string
	}{
		{"control gpu", "", "control gpu", ""},
		{"serve", "serve", "", ""},
		{"rollout policy-server model", "policy-server", "rollout model", ""},
		{"codec codec", "codec", "", ""},
		{"serve codec", "", "", "serve and codec both listen"},
		{"control trainer", "", "", `unknown role "trainer"; roles are control, rollout,`},
	} {
		t.Run(c.roles, func(t *testing.T) {
			server, queues, err := split(strings.Fields(c.roles))
			if c.problem != "" {
				if err == nil || !strings.Contains(err.Error(), c.problem) {
					t.Errorf("split = %v, want an error with %q", err, c.problem)
				}

				return
			}
			if err != nil || server != c.server || !slices.Equal(queues, strings.Fields(c.queues)) {
				t.Errorf("split = %q, %q, %v, want %q and %q", server, queues, err, c.server, c.queues)
			}
		})
	}
}
