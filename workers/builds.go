package workers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/process/logging"
	"github.com/collabui/collabui/internal/process/payloads"
	"github.com/collabui/collabui/workflows"
)

// Deployment returns Temporal's name of all workers that name their build, whatever their roles: collabui, or the name
// that a controller gives its pods.
func Deployment() string { return cmp.Or(os.Getenv(EnvDeployment), "collabui") }

// The variables in which Temporal's worker controller for Kubernetes names the deployment and the build of a pod.
const (
	EnvDeployment = "TEMPORAL_DEPLOYMENT_NAME"
	EnvBuild      = "TEMPORAL_WORKER_BUILD_ID"
)

// version returns how a worker takes part in versions: with a build, workflows stay on the build on which they began,
// until they continue as new.
func (o Options) version() worker.DeploymentOptions {
	if o.Build == "" {
		return worker.DeploymentOptions{}
	}

	return worker.DeploymentOptions{
		UseVersioning: true, DefaultVersioningBehavior: workflow.VersioningBehaviorPinned,
		Version: worker.WorkerDeploymentVersion{DeploymentName: Deployment(), BuildID: o.Build},
	}
}

// behavior returns how a workflow takes part in versions, if not as most do. Notify moves to another build at once: it
// goes on for as long as its receiver does not answer, and keeps nothing between its activities.
func (o Options) behavior(f any) workflow.VersioningBehavior {
	if o.Build != "" && reflect.ValueOf(f).Pointer() == reflect.ValueOf(workflows.Notify).Pointer() {
		return workflow.VersioningBehaviorAutoUpgrade
	}

	return workflow.VersioningBehaviorUnspecified
}

// maxReplays is the number of histories of each type of workflow that Canary replays. One with fewer than minReplay
// events belongs to a workflow that has just begun: nothing of it was decided yet, and the replayer refuses it.
const (
	maxReplays = 10
	minReplay  = 3
)

// histories returns how this process replays recorded histories: the newest of every type of workflow, open and closed.
func (d *dependencies) histories(c client.Client) func(context.Context, func(string)) (int, error) {
	return func(ctx context.Context, say func(string)) (n int, err error) {
		codec, err := payloads.New()
		if err != nil {
			return 0, err
		}
		r, err := worker.NewWorkflowReplayerWithOptions(worker.WorkflowReplayerOptions{
			DataConverter: codec.Converter(),
		})
		if err != nil {
			return 0, err
		}
		for _, f := range workflows.All {
			r.RegisterWorkflow(f)
		}
		for _, f := range workflows.All {
			name := runtime.FuncForPC(reflect.ValueOf(f).Pointer()).Name()
			page, err := c.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{
				Namespace: d.namespace, PageSize: maxReplays,
				Query: fmt.Sprintf("WorkflowType = %q", name[strings.LastIndexByte(name, '.')+1:]),
			})
			if err != nil {
				return n, err
			}
			for _, x := range page.Executions {
				h, err := historyOf(ctx, c, x.Execution.WorkflowId, x.Execution.RunId)
				if err != nil {
					return n, err
				}
				if len(h.Events) < minReplay {
					continue
				}
				if err := r.ReplayWorkflowHistory(logging.Temporal(logging.Silent()), h); err != nil {
					const text = "the history of %s does not replay: %w"

					return n, fault.New(fault.Invalid, text, x.Execution.WorkflowId, err)
				}
				n++
				say(fmt.Sprintf("%d histories replayed", n))
			}
		}

		return n, nil
	}
}

func historyOf(ctx context.Context, c client.Client, id, run string) (*history.History, error) {
	h := &history.History{}
	events := c.GetWorkflowHistory(ctx, id, run, false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		e, err := events.Next()
		if err != nil {
			return nil, err
		}
		h.Events = append(h.Events, e)
	}

	return h, nil
}

// Build is a build of the workers as Temporal knows it.
type Build struct {
	ID    string    `json:"build"`
	State string    `json:"state"`          // one of those below
	Since time.Time `json:"since,omitzero"` // when its first worker came
}

// The states of builds.
const (
	BuildCurrent  = "current"  // runs begin on it, and open ones move to it after their epoch
	BuildWaiting  = "waiting"  // it has had no work yet
	BuildDraining = "draining" // open workflows need its workers
	BuildDrained  = "drained"  // its workers may be stopped
)

// Builds returns the builds that Temporal knows, the newest first.
func Builds(ctx context.Context, c client.Client) ([]Build, error) {
	d, err := c.WorkerDeploymentClient().GetHandle(Deployment()).Describe(ctx, client.WorkerDeploymentDescribeOptions{})
	if err != nil {
		return nil, err
	}
	var out []Build
	for _, v := range d.Info.VersionSummaries {
		b := Build{ID: v.Version.BuildID, Since: v.CreateTime, State: BuildWaiting}
		switch v.DrainageStatus {
		case client.WorkerDeploymentVersionDrainageStatusDraining:
			b.State = BuildDraining
		case client.WorkerDeploymentVersionDrainageStatusDrained:
			b.State = BuildDrained
		}
		if now := d.Info.RoutingConfig.CurrentVersion; now != nil && *now == v.Version {
			b.State = BuildCurrent
		}
		out = append(out, b)
	}
	slices.SortFunc(out, func(x, y Build) int { return y.Since.Compare(x.Since) })

	return out, nil
}

// registers is the time that Temporal gets to learn of a build's workers on all queues, which they tell it one by one.
const registers = 20 * time.Second

// patiently calls f until Temporal knows enough of a build for it.
func patiently(ctx context.Context, f func() error) error {
	for end := time.Now().Add(registers); ; {
		err := f()
		var not *serviceerror.FailedPrecondition
		if !errors.As(err, &not) || time.Now().After(end) {
			return err
		}
		select {
		case <-time.After(500 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// CheckBuild runs the workflow Canary on a build and returns what it has shown.
func CheckBuild(
	ctx context.Context, c client.Client, build string, in workflows.CanaryInput,
) (out workflows.Canaried, err error) {
	o := client.StartWorkflowOptions{
		ID: workflows.CanaryID(build), TaskQueue: workflows.QueueControl,
		StaticSummary: "may runs move to build " + build + "?",
		VersioningOverride: &client.PinnedVersioningOverride{
			Version: worker.WorkerDeploymentVersion{DeploymentName: Deployment(), BuildID: build},
		},
	}
	in.Build = build
	var w client.WorkflowRun
	if err = patiently(ctx, func() (err error) {
		w, err = c.ExecuteWorkflow(ctx, o, workflows.Canary, in)

		return err
	}); err != nil {
		return out, err
	}
	err = w.Get(ctx, &out)

	return out, err
}

// Promote makes a build the current one. Temporal refuses a build that lacks a role which the current one has.
func Promote(ctx context.Context, c client.Client, build string) error {
	h := c.WorkerDeploymentClient().GetHandle(Deployment())

	return patiently(ctx, func() error {
		_, err := h.SetCurrentVersion(ctx, client.WorkerDeploymentSetCurrentVersionOptions{
			BuildID: build, Identity: identity(),
		})

		return err
	})
}
