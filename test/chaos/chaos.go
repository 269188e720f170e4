// Package chaos plays whole runs on real processes that are killed, frozen and cut off from each other: Temporal, S3
// and Redis behind proxies, and a worker whose failpoints strike. Every run must end with the digest of an undisturbed
// one, and leave a sound store.
package chaos

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/collabui/collabui/internal/care/verify"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/test/kit/fakepolicy"
	"github.com/collabui/collabui/test/kit/pipeline"
	"github.com/collabui/collabui/workflows"
)

// Cell is a set of processes, on which runs are played one after the other.
type Cell struct {
	Places   []string // failpoints that an undisturbed run passes
	Requests int64    // number of requests that an undisturbed run makes to S3
	Digest   string   // final digest of an undisturbed run

	pipeline *pipeline.Pipeline
	temporal *tcpProxy
	redis    *tcpProxy
	s3tcp    *tcpProxy // in front of the other one
	s3       *s3Proxy
	client   client.Client
	bucket   store.Bucket
	frozen   map[string]time.Time
	env      []string // of the workers
}

// NewCell starts a cell in a folder, and plays an undisturbed run. local is the program collabui-local.
func NewCell(ctx context.Context, dir, local string) (*Cell, error) {
	p, err := pipeline.New(dir, local)
	if err != nil {
		return nil, err
	}
	cell := &Cell{pipeline: p, frozen: map[string]time.Time{}}
	for _, name := range []string{pipeline.Temporal, pipeline.S3, pipeline.Redis} {
		if err := p.Start(name); err != nil {
			return cell, err
		}
	}
	if cell.temporal, err = newTCPProxy(p.Services.Temporal); err != nil {
		return cell, err
	}
	if cell.redis, err = newTCPProxy(p.Services.Redis); err != nil {
		return cell, err
	}
	if cell.s3, err = newS3Proxy(p.Services.S3); err != nil {
		return cell, err
	}
	if cell.s3tcp, err = newTCPProxy(cell.s3.addr()); err != nil {
		return cell, err
	}
	if cell.bucket, err = p.Bucket(); err != nil {
		return cell, err
	}
	if cell.client, err = p.Client(); err != nil {
		return cell, err
	}

	return cell, cell.undisturbed(ctx)
}

// undisturbed plays a run without faults, and records the failpoints that it passes.
func (c *Cell) undisturbed(ctx context.Context) error {
	list := filepath.Join(c.pipeline.Dir, "places")
	got, err := c.play(ctx, "undisturbed", []string{"list:" + list}, nil)
	if err != nil {
		return err
	}
	if len(got.Problems) > 0 {
		return fmt.Errorf("the undisturbed run: %s", strings.Join(got.Problems, "; "))
	}
	raw, err := os.ReadFile(list)
	c.Places = strings.Fields(string(raw))
	c.Requests = c.s3.requests.Load()
	c.Digest = got.Digest
	slices.Sort(c.Places)
	c.Places = slices.Compact(c.Places) // the same of several processes

	return err
}

// Close ends the cell.
func (c *Cell) Close() {
	if c.client != nil {
		c.client.Close()
	}
	c.pipeline.Close()
	for _, proxy := range []*tcpProxy{c.temporal, c.redis, c.s3tcp} {
		if proxy != nil {
			proxy.close()
		}
	}
	if c.s3 != nil {
		c.s3.close()
	}
}

// Played is a run that was played.
type Played struct {
	Digest   string
	Took     time.Duration
	Struck   []FaultKind
	Waited   string   // the pending activities of a slow run
	Problems []string // violations: the run did not end, or its store is not sound
}

// Play plays a run under the faults of a seed.
func (c *Cell) Play(ctx context.Context, seed uint64) (Played, error) {
	name := fmt.Sprintf("run-%d", seed)
	points, events := c.schedule(seed)
	var setting []string
	for _, p := range points {
		setting = append(setting, p.setting)
	}
	got, err := c.play(ctx, name, setting, events)
	for _, p := range points {
		if _, err := os.Stat(p.file); err == nil {
			got.Struck = append(got.Struck, p.kind)
		}
	}
	if err == nil && got.Digest != c.Digest && got.Digest != "" {
		got.Problems = append(got.Problems, fmt.Sprintf("the digest is %.12s, not %.12s", got.Digest, c.Digest))
	}

	return got, err
}

// limit is the time in which a run must end. An undisturbed run takes seconds; Temporal waits 10 s for a lost worker,
// and longer and longer after errors.
const (
	limit = 5 * time.Minute
	slow  = time.Minute
)

// play plays a run to its end.
func (c *Cell) play(ctx context.Context, name string, failpoints []string, events []*event) (out Played, err error) {
	began := time.Now()
	base := c.s3.requests.Load()
	c.env = []string{"COLLABUI_FAILPOINT=" + strings.Join(failpoints, ",")}
	c.pipeline.End(pipeline.Worker)
	specification := fakepolicy.Specification(name)
	if err := eventually(func() error {
		_, _, err := runs.Run(name).Spec().Record(ctx, c.bucket, constant(specification))

		return errors.Join(err, c.supervise())
	}); err != nil {
		return out, err
	}
	if err := eventually(func() error { return c.begin(ctx, name) }); err != nil {
		return out, err
	}

	for {
		if err := c.supervise(); err != nil {
			return out, err
		}
		for _, e := range events {
			if !e.struck && c.s3.requests.Load()-base >= e.at {
				e.struck = true
				out.Struck = append(out.Struck, e.kind)
				if err := e.strike(ctx, name); err != nil {
					return out, err
				}
			}
		}
		out.Digest = c.finalDigest(ctx, name)
		if out.Digest != "" {
			break
		}
		if since := time.Since(began); out.Waited == "" && since > slow {
			out.Waited = c.status(ctx, name)
		} else if since > limit {
			out.Problems = append(out.Problems, "the run did not end: "+c.status(ctx, name))
			break
		}
		select {
		case <-ctx.Done():
			return out, ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
	out.Took = time.Since(began)

	return out, eventually(func() error {
		if err := c.supervise(); err != nil {
			return err
		}
		problems, err := c.audit(ctx, name)
		if err == nil {
			out.Problems = append(out.Problems, problems...)
		}

		return err
	})
}

// finalDigest returns the final digest of a run, or "". It does not wait for a frozen S3 server.
func (c *Cell) finalDigest(ctx context.Context, name string) string {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	end, _, err := runs.Run(name).End().Must(ctx, c.bucket)
	if err != nil {
		return ""
	}

	return end.FinalDigest
}

func constant[T any](v T) func() (T, error) { return func() (T, error) { return v, nil } }

// begin starts the workflow of a run, unless it is running.
func (c *Cell) begin(ctx context.Context, name string) error {
	options := client.StartWorkflowOptions{ID: name, TaskQueue: workflows.QueueControl}
	_, err := c.client.ExecuteWorkflow(ctx, options, workflows.Run, workflows.RunInput{Name: name})

	return err
}

// audit checks a run's objects in the store.
func (c *Cell) audit(ctx context.Context, name string) (out []string, err error) {
	problems, err := verify.Run(ctx, c.bucket, name)
	if err != nil {
		return nil, err
	}
	report, err := verify.FsckRun(ctx, c.bucket, name)
	if err != nil {
		return nil, err
	}
	for _, problem := range append(problems, report.Problems...) {
		out = append(out, problem.Key+" "+problem.Detail)
	}

	return out, nil
}

// status lists the pending activities of all open workflows, for which a run waits.
func (c *Cell) status(ctx context.Context, name string) string {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	open, err := c.client.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{
		Query: "ExecutionStatus = 'Running'",
	})
	if err != nil {
		return err.Error()
	}
	var out []string
	for _, info := range open.Executions {
		description, err := c.client.DescribeWorkflow(ctx, info.Execution.WorkflowId, "")
		if err != nil {
			return err.Error()
		}
		for _, p := range description.RawResponse.PendingActivities {
			out = append(out, fmt.Sprintf("%s: %s, %v, attempt %d, next %v, after %q", info.Execution.WorkflowId,
				p.ActivityType.Name, p.State, p.Attempt, time.Until(p.ScheduledTime.AsTime()).Round(time.Second),
				p.LastFailure.GetMessage()))
		}
		if t := description.RawResponse.PendingWorkflowTask; t != nil {
			task := fmt.Sprintf("%s: workflow task, %v, attempt %d", info.Execution.WorkflowId, t.State, t.Attempt)
			out = append(out, task)
		}
	}

	return name + ": " + strings.Join(out, "; ")
}

// eventually tries something for half a minute, until it succeeds.
func eventually(try func() error) error {
	var err error
	for range 100 {
		err = try()
		if err == nil {
			return nil
		}
		time.Sleep(300 * time.Millisecond)
	}

	return err
}
