//go:build integration

package integration

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/envadapters/acceptance"
	"github.com/collabui/collabui/envadapters/openenv"
	"github.com/collabui/collabui/fault"
)

// serve starts `envs serve webtasks` in a process of its own and returns its address.
func serve(t *testing.T) (*exec.Cmd, string) {
	t.Helper()
	cmd := exec.Command(binary("collabui"), "envs", "serve", "webtasks", "--tabs", "3", "--json")
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}

	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })

	var ready struct{ Address string }
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &ready)
	}

	if err != nil {
		t.Fatal(err)
	}

	return cmd, ready.Address
}

// TestOpenEnvAgainstOurServerInAnotherProcess expects that webtasks over the network keeps the contract, with expert,
// judge, replay and screenshots, and that the death of a server makes the episode void.
func TestOpenEnvAgainstOurServerInAnotherProcess(t *testing.T) {
	t.Parallel()
	cmd, address := serve(t)
	s, err := openenv.New(envadapters.Options{Servers: []string{address}, Places: 2})
	if err != nil {
		t.Fatal(err)
	}

	for _, r := range acceptance.Test(t, s, 8) {
		if r.Expert != acceptance.Solves || r.Replay != acceptance.Identical || r.Screenshot == nil {
			t.Errorf("report = %+v, want expert %v, replay %v and a screenshot",
				r, acceptance.Solves, acceptance.Identical)
		}
	}

	env, err := s.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}

	task := domain.Task{Template: "tap-button", Split: domain.SplitTrain, Seed: 1, MaxSteps: 3}
	if _, err := env.Reset(t.Context(), task); err != nil {
		t.Fatal(err)
	}

	if err := cmd.Process.Signal(os.Kill); err != nil {
		t.Fatal(err)
	}

	began := time.Now()
	_, err = env.Step(t.Context(), domain.Action{Type: domain.ActionWait})
	if fault.KindOf(err) != fault.Void {
		t.Errorf("a step after the server's death: %v, want a void episode", err)
	}

	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("the step took %v, want at most 30 s", took)
	}

	env.Close(t.Context())
	if h := s.Check(t.Context()); h.State == envadapters.Ready || h.Fix == "" {
		t.Errorf("health = %+v, want it not ready, with what to do about it", h)
	}
}
