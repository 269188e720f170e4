package supervisor

import (
	"slices"
	"testing"

	"github.com/collabui/collabui/envadapters/hosts"
	"github.com/collabui/collabui/internal/config"
)

// TestTheWorkerOfOneMachineReachesItsLoopback matters because a person's models and environments are there.
func TestTheWorkerOfOneMachineReachesItsLoopback(t *testing.T) {
	for set, want := range map[string]string{"": "*,localhost", "a.example": "a.example"} {
		t.Setenv(hosts.Env, set)
		external := config.Endpoints{
			Temporal: "temporal.example:7233", Redis: "redis://redis.example", Policy: "http://policy.example/v1",
		}
		external.Store.Endpoint = "s3.example:9000"
		s := &Supervisor{o: Options{Data: t.TempDir(), External: external}, state: State{Services: map[Name]Service{}}}
		units, err := s.plan(secrets{Ports: make([]int, 16)})
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(units, func(u unit) bool { return u.name == Worker })
		if i < 0 || !slices.Contains(units[i].env, hosts.Env+"="+want) {
			t.Errorf("with %s=%q the units are %+v, want a worker with %q", hosts.Env, set, units, want)
		}
	}
}
