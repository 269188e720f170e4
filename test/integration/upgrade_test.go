//go:build integration

package integration

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http/httptest"
	"os"
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
	"github.com/collabui/collabui/workers"
)

// upgradedEpochs are enough for a build to start and to be checked before the last of them.
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
	u.add("policy", u.starts(binary("collabui"), "policy-server", "--addr", policy))
	t.Cleanup(u.down)
	u.hosts["policy"].up()

	return u
}

// newBuild builds the program again, otherwise: another binary. flags are further ones of the go command.
func newBuild(t *testing.T, flags ...string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "collabui")
	flags = append(flags, "-trimpath", "-ldflags", "-s -w", "-o", file, "../../cmd/collabui")
	cmd := exec.Command("go", append([]string{"build"}, flags...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v, want success\n%s", err, out)
	}

	return file
}

// brokenBuild builds the program with a workflow that begins an epoch by sleeping, which no history has.
func brokenBuild(t *testing.T) string {
	t.Helper()
	source := absolute(t, "../../workflows/epoch.go")
	raw, err := os.ReadFile(source)
	if err != nil {
		t.Fatal(err)
	}
	const first = `draw := on(ctx, QueueControl, "draw topology and slots")`
	edited := strings.Replace(string(raw), first, "_ = workflow.Sleep(ctx, 1)\n\t"+first, 1)
	if edited == string(raw) {
		t.Fatalf("epoch.go lacks %s, want the line that is broken here", first)
	}
	dir := t.TempDir()
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{source: filepath.Join(dir, "epoch.go")}})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"epoch.go": edited, "overlay.json": string(overlay)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}

	return newBuild(t, "-overlay", filepath.Join(dir, "overlay.json"))
}

// builds returns the states of builds.
func (u *upgraded) builds() map[string]string {
	var x struct{ Builds []workers.Build }
	out := map[string]string{}
	if said, err := u.try("deployment", "--json"); err == nil && json.Unmarshal([]byte(said), &x) == nil {
		for _, b := range x.Builds {
			out[b.ID] = b.State
		}
	}

	return out
}

// TestARunMovesToAnotherBuildBetweenEpochs: a run is upgraded in its middle from one real build to another, and back.
// Its epochs begin beside those before them, which keeps it from continuing as new until there is another build. Every
// epoch is played by one build from its beginning to its end, old workers are drained, and the digest is that of a run
// without an upgrade. A build that cannot replay what the other has recorded is not promoted.
func TestARunMovesToAnotherBuildBetweenEpochs(t *testing.T) {
	t.Parallel()
	digests := map[string]string{}
	plain := newUpgraded(t)
	plain.add("all", plain.worker("--tabs", "4"))
	plain.hosts["all"].up()
	plain.must("train", plain.spec, "--detach")
	digests["plain"] = plain.sound(4 * time.Minute).FinalDigest

	u := newUpgraded(t)
	u.refuses("start workers with --build", "deployment")
	u.add("old", u.worker("--tabs", "4", "--build", "old"))
	u.add("new", u.starts(newBuild(t), "worker", "--tabs", "4", "--build", "new"))
	u.add("broken", u.starts(brokenBuild(t), "worker", "--tabs", "4", "--build", "broken"))
	u.hosts["old"].up()
	u.eventually("build old is there", time.Minute, func() bool { return u.builds()["old"] != "" })
	u.says([]string{"no run is open", "old", "current"}, "deployment", "promote", "old")
	u.must("train", u.spec, "--detach")
	u.committed(1, 3*time.Minute)
	u.hosts["broken"].up()
	u.eventually("build broken is there", time.Minute, func() bool { return u.builds()["broken"] != "" })
	u.refuses("does not replay", "deployment", "promote", "broken")
	if s := u.builds()["old"]; s != "current" {
		t.Errorf("after a refusal build old is %q, want current", s)
	}
	u.hosts["broken"].signal(syscall.SIGKILL)
	u.hosts["new"].up()
	u.eventually("build new is there", time.Minute, func() bool { return u.builds()["new"] != "" })
	said := u.must("deployment", "promote", "new")
	u.contains(said, nil, []string{"was played in", "new", "current"}, []string{"deployment", "promote", "new"})
	if strings.Contains(said, "in 0 steps") {
		t.Errorf("the canary played no step, want some\n%s", said)
	}
	// Only then is the old build needed no more: it also lets the run continue as new.
	u.poll("an epoch is played by build new", 3*time.Minute, 500*time.Millisecond, func() bool {
		by := u.epochsByBuild()

		return by[len(by)] == "new"
	})
	if s := u.builds()["old"]; s != workers.BuildDraining && s != workers.BuildDrained {
		t.Errorf("build old is %q after its last epoch, want it to drain (Temporal looks every few minutes)", s)
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
	u.refuses("not found", "deployment", "promote", "unknown", "--unchecked")
	u.refuses("was not promoted", "deployment", "promote", "unknown")
}

// epochsByBuild returns the builds whose workers ran the workflow of each epoch that has begun; several are joined.
func (u *upgraded) epochsByBuild() map[int]string {
	u.t.Helper()
	c, err := client.Dial(client.Options{
		HostPort: u.temporal, Namespace: "collabui",
		Logger: log.NewStructuredLogger(slog.New(slog.NewTextHandler(io.Discard, nil))),
	})
	if err != nil {
		u.t.Fatal(err)
	}
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
