//go:build integration

package integration

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.temporal.io/api/sdk/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/collabui/collabui/envadapters/openenv"
	"github.com/collabui/collabui/envadapters/scripted"
)

// TestShowSaysWhatHappensNow lets a run play on two servers and stops one after the other. Show reports the phase with
// its rate, the cost of each kind of work, the servers that died and the work that is retried in vain. Then the run is
// stopped, and every command reports it.
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

	says("a run that plays", "now: rollouts, ", " of 4000 episodes", " per minute, about ", "2 of 2 answer")
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

// temporalPages reads the data of the Temporal UI's pages.
type temporalPages struct {
	t *testing.T
	c client.Client
}

// pausedRuns is the filter of paused runs in docs/operate.md.
const pausedRuns = `WorkflowType="Run" AND ExecutionStatus="Running" AND CollabStage="paused"`

// newTemporalPages connects to a machine's Temporal.
func newTemporalPages(m *machine) temporalPages {
	m.t.Helper()
	c, err := client.Dial(client.Options{HostPort: m.service("temporal").Addr, Namespace: "collabui"})
	if err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(c.Close)

	return temporalPages{m.t, c}
}

// list returns the workflows that a query finds.
func (p temporalPages) list(query string) (ids []string) {
	p.t.Helper()
	res, err := p.c.ListWorkflow(p.t.Context(), &workflowservice.ListWorkflowExecutionsRequest{Query: query})
	if err != nil {
		p.t.Fatal(err)
	}
	for _, x := range res.Executions {
		ids = append(ids, x.Execution.WorkflowId)
	}

	return ids
}

// shows checks that the page of a workflow contains texts.
func (p temporalPages) shows(id string, texts ...string) {
	p.t.Helper()
	v, err := p.c.QueryWorkflow(p.t.Context(), id, "", "__temporal_workflow_metadata")
	var x sdk.WorkflowMetadata
	if err == nil {
		err = v.Get(&x)
	}
	if err != nil {
		p.t.Fatal(err)
	}
	for _, want := range texts {
		if !strings.Contains(x.CurrentDetails, want) {
			p.t.Errorf("the page of %s shows\n%s\nwant %q", id, x.CurrentDetails, want)
		}
	}
}

// tell checks the pages of a run that has ended: the whole run on its page, over all of its executions, and an episode
// on the page of its shard.
func (p temporalPages) tell() {
	p.t.Helper()
	if got := p.list(pausedRuns); len(got) > 0 {
		p.t.Errorf("paused runs are %v, want none", got)
	}
	p.shows("kill", "**done**, epoch 2 of 2", "stage 1: ",
		"| [1](/namespaces/collabui/workflows/kill%2Fepoch%2F0001) | ",
		"| [2](/namespaces/collabui/workflows/kill%2Fepoch%2F0002) | ",
		"final digest `", "| trained-4 | test-seeds | ")
	if got := p.list(`CollabRun IS NULL AND WorkflowId STARTS_WITH "kill"`); len(got) > 0 {
		p.t.Errorf("the workflows %v have no CollabRun, want all workflows of a run to have it", got)
	}
	for _, kind := range []string{"Evaluation", "FineTune"} {
		if len(p.list(fmt.Sprintf(`CollabRun="kill" AND WorkflowType=%q`, kind))) == 0 {
			p.t.Errorf("no %s is listed by its run, want one", kind)
		}
	}
	shards := p.list(`WorkflowType="Shard" AND CollabSuccessRate<1`)
	if len(shards) != 2 {
		p.t.Fatalf("the shards %v are listed, want one of each epoch", shards)
	}
	p.shows(shards[0], "| slot | | steps | right, wrong, uncertain | pairs | |", "| success | ", "/#/episode/kill/",
		"**failed** after ", "\n    goal: ", "\n    1 ")
}
