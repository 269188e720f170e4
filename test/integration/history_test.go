//go:build integration

package integration

import (
	"context"
	"io"
	"log/slog"

	historypb "go.temporal.io/api/history/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"

	"github.com/collabui/collabui/internal/payloads"
	"github.com/collabui/collabui/workflows"
)

// replayHistories replays the history of every workflow of this machine under the present code.
func (m *machine) replayHistories() {
	m.t.Helper()
	m.replayHistoriesAt(m.service("temporal").Addr)
}

// replayHistoriesAt is replayHistories with a Temporal at another address.
func (m *machine) replayHistoriesAt(addr string) {
	m.t.Helper()
	quiet := log.NewStructuredLogger(slog.New(slog.NewTextHandler(io.Discard, nil)))
	c, err := client.Dial(client.Options{
		HostPort:  addr,
		Namespace: "collabui",
		Logger:    quiet,
	})
	if err != nil {
		m.t.Fatal(err)
	}
	defer c.Close()

	codec, err := payloads.Fixed(m.payloadKeys)
	if err != nil {
		m.t.Fatal(err)
	}
	r, err := worker.NewWorkflowReplayerWithOptions(worker.WorkflowReplayerOptions{DataConverter: codec.Converter()})
	if err != nil {
		m.t.Fatal(err)
	}
	for _, f := range workflows.All {
		r.RegisterWorkflow(f)
	}
	all := m.executions(c)
	for _, x := range all {
		h := m.history(c, x)
		if err := r.ReplayWorkflowHistory(quiet, h); err != nil {
			m.t.Errorf("replay of %s: %v, want no error", x.Execution.WorkflowId, err)
		}
	}

	if len(all) < 6 {
		m.t.Errorf("%d histories, want at least 6", len(all))
	}
	m.t.Logf("%d histories replayed", len(all))
}

func (m *machine) executions(c client.Client) []*workflowpb.WorkflowExecutionInfo {
	m.t.Helper()
	var out []*workflowpb.WorkflowExecutionInfo
	for next := []byte(nil); ; {
		q := &workflowservice.ListWorkflowExecutionsRequest{NextPageToken: next}
		page, err := c.ListWorkflow(context.Background(), q)
		if err != nil {
			m.t.Fatal(err)
		}
		out = append(out, page.Executions...)
		if next = page.NextPageToken; len(next) == 0 {
			return out
		}
	}
}

func (m *machine) history(c client.Client, x *workflowpb.WorkflowExecutionInfo) *historypb.History {
	m.t.Helper()
	h := &historypb.History{}
	it := c.GetWorkflowHistory(context.Background(), x.Execution.WorkflowId, x.Execution.RunId, false, 0)
	for it.HasNext() {
		e, err := it.Next()
		if err != nil {
			m.t.Fatal(err)
		}
		h.Events = append(h.Events, e)
	}

	return h
}
