//go:build integration

package integration

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/collabui/collabui/envadapters/openenv"
	"github.com/collabui/collabui/envadapters/scripted"
)

// TestShowSaysWhatHappensNow lets a run play on two servers and stops one after the other. Show names the phase with
// its rate, what each kind of work takes, the servers that died and what is tried again in vain. Then the run is
// stopped, and every command says so.
func TestShowSaysWhatHappensNow(t *testing.T) {
	t.Parallel()
	var servers []*httptest.Server
	var addresses []string
	for range 2 {
		handler, err := openenv.Handler(&scripted.Suite{Length: 2})
		if err != nil {
			t.Fatal(err)
		}
		s := httptest.NewServer(handler)
		t.Cleanup(s.Close)
		servers, addresses = append(servers, s), append(addresses, strings.TrimPrefix(s.URL, "http://"))
	}
	file := fmt.Sprintf(heldRun, strings.Join(addresses, `/ws", "ws://`), demonstrated)
	m := newMachine(t, strings.Replace(file, "slots: 4\n", "slots: 4000\n", 1))
	m.must("train", m.spec, "--detach")
	says := func(what string, texts ...string) {
		t.Helper()
		out := ""
		for end := time.Now().Add(90 * time.Second); time.Now().Before(end); time.Sleep(time.Second) {
			out, _ = m.try("show", "kill")
			missing := false
			for _, text := range texts {
				missing = missing || !strings.Contains(out, text)
			}
			if !missing {
				return
			}
		}
		t.Fatalf("%s: show printed\n%s\nwant it to contain %q", what, out, texts)
	}

	says("a run that plays", "now: rollouts, ", " of 4000 episodes", " per minute, about ", "2 of 2 answer", "Rollout ")
	servers[1].CloseClientConnections()
	servers[1].Close()
	says("a dead server", "1 of 2 answer", "ws://"+addresses[1]+"/ws: dead, ", "now: rollouts, ")
	servers[0].CloseClientConnections()
	servers[0].Close()
	says("no server is left", "0 of 2 answer", "tried again: Rollout in kill/epoch/0001/", addresses[0])

	m.must("stop", "kill", "--why", "no servers")
	m.says([]string{"stopped"}, "show", "kill")
	m.says([]string{"stopped"}, "runs")
	m.refuses("does not run", "stop", "kill")
}
