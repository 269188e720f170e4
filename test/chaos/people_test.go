//go:build integration

package chaos

import (
	"context"
	"fmt"
	"testing"
	"time"

	"go.temporal.io/sdk/client"

	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/test/kit/fakepolicy"
	"github.com/collabui/collabui/test/kit/pipeline"
	"github.com/collabui/collabui/workflows"
)

// TestPeopleComeFirst fills the control worker with more endless activities than it runs concurrently. A person's
// request is still done and recorded.
func TestPeopleComeFirst(t *testing.T) {
	c := startCell(t.Context(), t)
	c.pipeline.End(pipeline.Worker)
	c.env = []string{pipeline.LatencyEnv + "=1s"}
	s := fakepolicy.Specification("people")
	s.Slots = 100
	s.Decoding.Temperatures = []float64{0.5}
	if _, _, err := runs.Run(s.Name).Spec().Record(t.Context(), c.bucket, constant(s)); err != nil {
		t.Fatal(err)
	}
	if err := c.supervise(); err != nil {
		t.Fatal(err)
	}
	if err := c.begin(t.Context(), s.Name); err != nil {
		t.Fatal(err)
	}
	c.until(t, s.Name, "an epoch", func(st workflows.Status) bool { return st.Stage == workflows.StageEpoch })
	for i := range 50 {
		o := client.StartWorkflowOptions{ID: fmt.Sprintf("busy/%d", i), TaskQueue: workflows.QueueControl}
		if _, err := c.client.ExecuteWorkflow(t.Context(), o, pipeline.Busy); err != nil {
			t.Fatal(err)
		}
	}

	ann := workflows.Command{Who: "ann", Why: "lunch"}
	set := workflows.SetCommand{Command: ann, Values: map[string]string{"window": "2"}}
	for _, x := range []struct {
		name    string
		command any
	}{
		{workflows.UpdatePause, ann}, {workflows.UpdateSet, set},
		{workflows.UpdateResume, ann}, {workflows.UpdateStop, ann},
	} {
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		h, err := c.client.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
			WorkflowID: s.Name, UpdateName: x.name, WaitForStage: client.WorkflowUpdateStageCompleted,
			Args: []any{x.command},
		})
		if err == nil {
			err = h.Get(ctx, nil)
		}
		cancel()
		if took := time.Since(began); err != nil || took > 30*time.Second {
			t.Errorf("%s took %v and ended with %v, want it done and recorded within seconds", x.name, took, err)
		}
	}
	all, err := runs.Run(s.Name).Changes(t.Context(), c.bucket, 0, 0)
	if err != nil || len(all) != 4 {
		t.Errorf("%d changes are recorded, %v; want the pause, the values, the resume and the stop", len(all), err)
	}
}

// until waits for a state of a run.
func (c *Cell) until(t *testing.T, name, what string, ok func(workflows.Status) bool) {
	t.Helper()
	for range 600 {
		var st workflows.Status
		v, err := c.client.QueryWorkflow(t.Context(), name, "", workflows.QueryStatus)
		if err == nil && v.Get(&st) == nil && ok(st) {
			return
		}
		time.Sleep(500 * time.Millisecond)
	}
	t.Fatalf("run %s: want: %s; %s", name, what, c.status(t.Context(), name))
}
