package workers

import (
	"testing"

	"go.temporal.io/sdk/workflow"

	"github.com/collabui/collabui/workflows"
)

// TestWorkersThatNameTheirBuildPinWorkflows: a controller for Kubernetes names the deployment in the environment.
func TestWorkersThatNameTheirBuildPinWorkflows(t *testing.T) {
	if v := (Options{}).version(); v.UseVersioning {
		t.Errorf("a worker without a build has %+v, want no versioning", v)
	}
	o := Options{Build: "b"}
	for _, want := range []string{"collabui", "ui-agents/workers"} {
		if want != "collabui" {
			t.Setenv(EnvDeployment, want)
		}
		v := o.version()
		if !v.UseVersioning || v.DefaultVersioningBehavior != workflow.VersioningBehaviorPinned ||
			v.Version.DeploymentName != want || v.Version.BuildID != "b" {
			t.Errorf("a worker of build b has %+v, want its workflows pinned to b of the deployment %s", v, want)
		}
	}
	if b := o.behavior(workflows.Notify); b != workflow.VersioningBehaviorAutoUpgrade {
		t.Errorf("the behaviour of Notify is %v, want auto upgrade: it may wait for its receiver for weeks", b)
	}
}
