//go:build integration

package integration

import (
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"go.temporal.io/api/sdk/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

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

	m.says([]string{"kill: stopping, "}, "stop", "kill", "--why", "no servers")
	for _, args := range [][]string{{"show", "kill"}, {"runs"}} {
		if out := m.must(args...); !strings.Contains(out, "stopping") && !strings.Contains(out, "stopped") {
			t.Errorf("after the stop, %v printed\n%s\nwant stopping or stopped", args, out)
		}
	}
	says("the end", "kill: stopped")
	m.says([]string{"stopped"}, "runs")
	m.refuses("does not run", "stop", "kill")
}

// TestTheTemporalPagesTellTheRun plays a run, and reads what the Temporal UI shows: the whole run on its page, after
// its end and over all of its executions; an episode on its page; and the lists of the saved filters.
func TestTheTemporalPagesTellTheRun(t *testing.T) {
	t.Parallel()
	m := newMachine(t, specification)
	m.must("train", m.spec, "--detach")
	m.must("pause", "kill", "--why", "a look")
	c, err := client.Dial(client.Options{HostPort: m.service("temporal").Addr, Namespace: "collabui"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	list := func(query string) (ids []string) {
		t.Helper()
		res, err := c.ListWorkflow(t.Context(), &workflowservice.ListWorkflowExecutionsRequest{Query: query})
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range res.Executions {
			ids = append(ids, x.Execution.WorkflowId)
		}

		return ids
	}
	const held = `WorkflowType="Run" AND ExecutionStatus="Running" AND CollabStage="paused"`
	m.eventually("the paused run is listed", time.Minute, func() bool {
		return slices.Equal(list(held), []string{"kill"})
	})
	m.must("resume", "kill")
	m.must("train", m.spec)
	if got := list(held); len(got) > 0 {
		t.Errorf("paused runs are %v, want none", got)
	}

	page := func(id string) string {
		t.Helper()
		v, err := c.QueryWorkflow(t.Context(), id, "", "__temporal_workflow_metadata")
		var x sdk.WorkflowMetadata
		if err == nil {
			err = v.Get(&x)
		}
		if err != nil {
			t.Fatal(err)
		}

		return x.CurrentDetails
	}
	run := page("kill")
	for _, want := range []string{
		"**done**, epoch 2 of 2", "stage 1: ", "| [1](/namespaces/collabui/workflows/kill%2Fepoch%2F0001) | ",
		"| [2](/namespaces/collabui/workflows/kill%2Fepoch%2F0002) | ", "final digest `", "| trained-4 | test-seeds | ",
	} {
		if !strings.Contains(run, want) {
			t.Errorf("the page of the run shows\n%s\nwant %q", run, want)
		}
	}
	shards := list(`WorkflowType="Shard" AND CollabSuccessRate<1`)
	if len(shards) != 2 {
		t.Fatalf("the shards %v are listed, want one of each epoch", shards)
	}
	shard := page(shards[0])
	for _, want := range []string{
		"| slot | | steps | right, wrong, uncertain | pairs | |", "| success | ", "/#/episode/kill/",
		"**failed** after ", "\n    goal: ", "\n    1 ",
	} {
		if !strings.Contains(shard, want) {
			t.Errorf("the page of a shard shows\n%s\nwant %q", shard, want)
		}
	}
}
