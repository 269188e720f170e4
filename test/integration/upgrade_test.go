//go:build integration

package integration

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"

	"github.com/collabui/collabui/envadapters/openenv"
	"github.com/collabui/collabui/envadapters/scripted"
)

// upgradedEpochs is the number of epochs: enough for a build to start and to be checked before the last one.
const upgradedEpochs = 10

// upgraded is a machine whose workers are started by hand, from several builds.
type upgraded struct {
	*cluster
	temporal string
}

// newUpgraded starts services, a policy server and an environment.
func newUpgraded(t *testing.T) *upgraded {
	t.Helper()
	h, err := openenv.Handler(&scripted.Suite{Length: 2})
	if err != nil {
		t.Fatal(err)
	}
	pages := httptest.NewServer(h)
	t.Cleanup(pages.Close)
	text := fmt.Sprintf(heldRun, strings.TrimPrefix(pages.URL, "http://"), demonstrated)
	text = strings.Replace(text, "epochs: 2", fmt.Sprintf("staleness: 1\nepochs: %d", upgradedEpochs), 1)
	u := &upgraded{cluster: &cluster{machine: newMachine(t, text), hosts: map[string]*host{}}}
	policy := freeAddr(t)
	u.services(policy)
	u.temporal = u.variable("COLLABUI_TEMPORAL")
	u.add("policy", u.worker("--roles", "policy-server", "--listen", policy))
	t.Cleanup(u.down)
	u.hosts["policy"].up()

	return u
}

// newBuild builds the program in another way, so that its binary differs.
func newBuild(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "collabui")
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", file, "../../cmd/collabui")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v, want success\n%s", err, out)
	}

	return file
}

// deployment calls f with the deployment of the workers, as Temporal knows it.
func (u *upgraded) deployment(f func(context.Context, client.WorkerDeploymentHandle) error) error {
	u.t.Helper()
	c := u.dial()
	defer c.Close()

	return f(u.t.Context(), c.WorkerDeploymentClient().GetHandle("collabui"))
}

// promote makes a build the current one, as `temporal worker deployment set-current-version` does. Temporal refuses it
// until it knows the build's workers on all queues.
func (u *upgraded) promote(build string) {
	u.t.Helper()
	u.eventually("build "+build+" is the current one", time.Minute, func() bool {
		o := client.WorkerDeploymentSetCurrentVersionOptions{BuildID: build}
		err := u.deployment(func(ctx context.Context, h client.WorkerDeploymentHandle) error {
			_, err := h.SetCurrentVersion(ctx, o)

			return err
		})

		return err == nil
	})
}

// TestARunMovesToAnotherBuildBetweenEpochs upgrades a run in its middle from one real build to another, and back. Its
// epochs begin beside the previous ones, which keeps it from continuing as new until there is another build. Every
// epoch is played by one build from its beginning to its end, old workers are drained, and the digest equals the digest
// of a run without an upgrade.
func TestARunMovesToAnotherBuildBetweenEpochs(t *testing.T) {
	t.Parallel()
	digests := map[string]string{}
	plain := newUpgraded(t)
	plain.add("all", plain.worker("--tabs", "4"))
	plain.hosts["all"].up()
	plain.must("train", plain.spec, "--detach")
	digests["plain"] = plain.sound(4 * time.Minute).FinalDigest

	u := newUpgraded(t)
	u.add("old", u.worker("--tabs", "4", "--build", "old"))
	u.add("new", u.starts(newBuild(t), "worker", "--tabs", "4", "--build", "new"))
	u.hosts["old"].up()
	u.promote("old")
	u.must("train", u.spec, "--detach")
	u.committed(1, 3*time.Minute)
	u.hosts["new"].up()
	u.promote("new")
	// Only then is the old build no longer needed: it also lets the run continue as new.
	u.poll("an epoch is played by build new", 3*time.Minute, 500*time.Millisecond, func() bool {
		by := u.epochsByBuild()

		return by[len(by)] == "new"
	})
	if status := u.drainage("old"); status == client.WorkerDeploymentVersionDrainageStatusUnspecified {
		t.Error("build old does not drain after its last epoch, want it draining or drained")
	}
	u.hosts["old"].signal(syscall.SIGTERM)
	digests["upgraded"] = u.sound(4 * time.Minute).FinalDigest
	allEqual(t, digests)

	u.replayHistoriesAt(u.temporal)
	by := u.epochsByBuild()
	t.Logf("epochs by build: %v", by)
	moved := false
	for epoch := 1; epoch <= upgradedEpochs; epoch++ {
		moved = moved || by[epoch] == "new"
		if want := map[bool]string{false: "old", true: "new"}[moved]; by[epoch] != want {
			t.Errorf("epoch %d was played by %q, want %q alone", epoch, by[epoch], want)
		}
	}
	if by[1] != "old" || !moved {
		t.Errorf("epochs were played by %v, want the first by old and the last by new", by)
	}
}

// drainage returns the drainage status of a build. Temporal updates it every few minutes.
func (u *upgraded) drainage(build string) (out client.WorkerDeploymentVersionDrainageStatus) {
	u.t.Helper()
	err := u.deployment(func(ctx context.Context, h client.WorkerDeploymentHandle) error {
		d, err := h.Describe(ctx, client.WorkerDeploymentDescribeOptions{})
		for _, v := range d.Info.VersionSummaries {
			if v.Version.BuildID == build {
				out = v.DrainageStatus
			}
		}

		return err
	})
	if err != nil {
		u.t.Error(err)
	}

	return out
}

// dial connects to Temporal.
func (u *upgraded) dial() client.Client {
	u.t.Helper()
	c, err := client.Dial(client.Options{
		HostPort: u.temporal, Namespace: "collabui",
		Logger: log.NewStructuredLogger(slog.New(slog.NewTextHandler(io.Discard, nil))),
	})
	if err != nil {
		u.t.Fatal(err)
	}

	return c
}

// epochsByBuild returns the builds whose workers ran the workflow of each epoch that has begun; several are joined.
func (u *upgraded) epochsByBuild() map[int]string {
	u.t.Helper()
	c := u.dial()
	defer c.Close()
	out := map[int]string{}
	for epoch := 1; epoch <= upgradedEpochs; epoch++ {
		events := c.GetWorkflowHistory(context.Background(), fmt.Sprintf("kill/epoch/%04d", epoch), "", false,
			enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
		for events.HasNext() {
			e, err := events.Next()
			var none *serviceerror.NotFound
			if errors.As(err, &none) {
				return out
			}
			if err != nil {
				u.t.Fatal(err)
			}
			if x := e.GetWorkflowTaskCompletedEventAttributes(); x != nil {
				if b := x.GetDeploymentVersion().GetBuildId(); !strings.Contains(out[epoch], b) {
					out[epoch] += b
				}
			}
		}
	}

	return out
}
