package workers_test

import (
	"context"
	"errors"
	"testing"

	"go.temporal.io/sdk/client"

	"github.com/collabui/collabui/workers"
	"github.com/collabui/collabui/workflows"
)

// asked is a Temporal that refuses everything and notes which deployment it was asked about.
type asked struct {
	client.Client
	about string
}

var errAsked = errors.New("refused")

func (a *asked) WorkerDeploymentClient() client.WorkerDeploymentClient { return deployments{to: a} }

func (a *asked) ExecuteWorkflow(
	_ context.Context, o client.StartWorkflowOptions, _ any, _ ...any,
) (client.WorkflowRun, error) {
	a.about = o.VersioningOverride.(*client.PinnedVersioningOverride).Version.DeploymentName

	return nil, errAsked
}

// deployments are those of Temporal, and deployment is one of them.
type deployments struct {
	client.WorkerDeploymentClient
	to *asked
}

type deployment struct{ client.WorkerDeploymentHandle }

func (d deployments) GetHandle(name string) client.WorkerDeploymentHandle {
	d.to.about = name

	return deployment{}
}

func (deployment) Describe(
	context.Context, client.WorkerDeploymentDescribeOptions,
) (client.WorkerDeploymentDescribeResponse, error) {
	return client.WorkerDeploymentDescribeResponse{}, errAsked
}

func (deployment) SetCurrentVersion(
	context.Context, client.WorkerDeploymentSetCurrentVersionOptions,
) (client.WorkerDeploymentSetCurrentVersionResponse, error) {
	return client.WorkerDeploymentSetCurrentVersionResponse{}, errAsked
}

// TestBuildsAreThoseOfTheDeploymentOfTheWorkers: a controller for Kubernetes names it in the environment.
func TestBuildsAreThoseOfTheDeploymentOfTheWorkers(t *testing.T) {
	for _, want := range []string{"collabui", "ui-agents/workers"} {
		if want != "collabui" {
			t.Setenv(workers.EnvDeployment, want)
		}
		for what, ask := range map[string]func(client.Client) error{
			"Builds": func(c client.Client) error {
				_, err := workers.Builds(t.Context(), c)

				return err
			},
			"CheckBuild": func(c client.Client) error {
				_, err := workers.CheckBuild(t.Context(), c, "b", workflows.CanaryInput{})

				return err
			},
			"Promote": func(c client.Client) error { return workers.Promote(t.Context(), c, "b") },
		} {
			a := &asked{}
			if err := ask(a); !errors.Is(err, errAsked) || a.about != want {
				t.Errorf("%s asks about the deployment %q, %v; want %q", what, a.about, err, want)
			}
		}
	}
}
