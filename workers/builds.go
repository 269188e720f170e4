package workers

import (
	"cmp"
	"os"
	"reflect"

	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/collabui/collabui/workflows"
)

// deployment returns Temporal's name of all workers that name their build, in every role: collabui, or the name that a
// controller gives its pods.
func deployment() string { return cmp.Or(os.Getenv(EnvDeployment), "collabui") }

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
		Version: worker.WorkerDeploymentVersion{DeploymentName: deployment(), BuildID: o.Build},
	}
}

// behavior returns how a workflow takes part in versions, if not as most do. Notify moves to another build at once: it
// continues for as long as its webhook does not answer, and keeps nothing between its activities.
func (o Options) behavior(f any) workflow.VersioningBehavior {
	if o.Build != "" && reflect.ValueOf(f).Pointer() == reflect.ValueOf(workflows.Notify).Pointer() {
		return workflow.VersioningBehaviorAutoUpgrade
	}

	return workflow.VersioningBehaviorUnspecified
}
