package main

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

const (
	testNamespace = "collabui"
	testQueue     = "test"
)

func dial(t *testing.T, addr string) client.Client {
	t.Helper()

	c, err := client.Dial(client.Options{HostPort: addr, Namespace: testNamespace})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)

	return c
}

// waits is a workflow that ends when it receives the signal "go".
func waits(ctx workflow.Context) error {
	workflow.GetSignalChannel(ctx, "go").Receive(ctx, nil)
	return nil
}

func TestTemporalKeepsWorkflowsAndSearchAttributesOverAKill(t *testing.T) {
	t.Parallel()

	dir, addr, ui := t.TempDir(), freeAddress(t), freeAddress(t)
	p := launch(t, "temporal", "--dir", dir, "--addr", addr, "--ui-addr", ui)
	c := dial(t, addr)

	describe := &workflowservice.DescribeNamespaceRequest{Namespace: testNamespace}
	ns, err := c.WorkflowService().DescribeNamespace(t.Context(), describe)
	if err != nil {
		t.Fatal(err)
	}

	if got, want := ns.Config.WorkflowExecutionRetentionTtl.AsDuration(), 90*24*time.Hour; got != want {
		t.Fatalf("the retention is %v, want %v", got, want)
	}

	for _, path := range []string{"/", "/api/v1/namespaces"} {
		if err := getOK(t.Context(), "http://"+ui+path); err != nil {
			t.Error(err)
		}
	}

	run, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{
		ID:        "quickstart/epoch/0003",
		TaskQueue: testQueue,
		TypedSearchAttributes: temporal.NewSearchAttributes(
			temporal.NewSearchAttributeKeyKeyword("CollabRun").ValueSet("quickstart"),
			temporal.NewSearchAttributeKeyKeyword("CollabStage").ValueSet("train"),
			temporal.NewSearchAttributeKeyInt64("CollabEpoch").ValueSet(3),
			temporal.NewSearchAttributeKeyKeyword("CollabEnvironment").ValueSet("webtasks"),
			temporal.NewSearchAttributeKeyFloat64("CollabSuccessRate").ValueSet(0.5),
			temporal.NewSearchAttributeKeyKeyword("CollabSystem").ValueSet("four-agents"),
		),
	}, waits)
	if err != nil {
		t.Fatal(err)
	}

	p.kill()
	launch(t, "temporal", "--dir", dir, "--addr", addr)
	wantListed(t, c, `CollabRun = "quickstart" AND CollabEpoch = 3 AND CollabSuccessRate < 0.6 `+
		`AND CollabSystem = "four-agents"`)
	w := worker.New(c, testQueue, worker.Options{})
	w.RegisterWorkflow(waits)
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	if err := c.SignalWorkflow(t.Context(), run.GetID(), "", "go", nil); err != nil {
		t.Fatal(err)
	}

	if err := run.Get(t.Context(), nil); err != nil {
		t.Fatalf("the workflow = %v, want it to end", err)
	}
}

// wantListed waits until the query finds one workflow. The listing is not immediate.
func wantListed(t *testing.T, c client.Client, query string) {
	t.Helper()

	err := until(t.Context(), "the workflow is listed", func(ctx context.Context) error {
		found, err := c.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{Query: query})
		if err == nil && len(found.Executions) != 1 {
			err = fmt.Errorf("%d found", len(found.Executions))
		}
		return err
	})

	if err != nil {
		t.Fatal(err)
	}
}

func TestTemporalRecoversFromAKillDuringItsFirstBoot(t *testing.T) {
	t.Parallel()

	for _, delay := range []time.Duration{50, 100, 200, 400} {
		t.Run(fmt.Sprint(delay*time.Millisecond), func(t *testing.T) {
			dir := t.TempDir()
			p := spawn(t, serviceArgs(t, "temporal", []string{"--dir", dir})...)
			time.Sleep(delay * time.Millisecond) // the test is about the moment of the kill
			p.kill()
			launch(t, "temporal", "--dir", dir)
		})
	}
}

func TestTemporalRefusesAnotherSchema(t *testing.T) {
	t.Parallel()

	for name, statement := range map[string]string{
		"other version": `UPDATE collabui_schema SET version = 'execution 0.1'`,
		"no version":    `DROP TABLE collabui_schema`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			dir := t.TempDir()
			file := filepath.Join(dir, "temporal.db")
			if err := ensureSchema(t.Context(), file); err != nil {
				t.Fatal(err)
			}
			change(t, file, statement)
			p := spawn(t, serviceArgs(t, "temporal", []string{"--dir", dir})...)
			code, output := p.exit(t), p.stderr.String()
			if code != exitData || !strings.Contains(output, "this server needs") || strings.Count(output, "\n") != 1 {
				t.Fatalf("exit code %d, want %d; said %q, want the needed schema in one line", code, exitData, output)
			}
		})
	}
}

func change(t *testing.T, file, statement string) {
	t.Helper()

	db, err := sql.Open("sqlite", dataSource(file))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if _, err := db.ExecContext(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
}
