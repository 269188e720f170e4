//go:build mutants

// Package mutants plants bugs and checks that tests find them: `make mutants`. A bug is a change of one place of the
// source, which the compiler reads instead of the file.
package mutants

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// mutant is a planted bug.
type mutant struct {
	name     string
	file     string   // below the root of the module
	was, now string   // was occurs exactly once
	find     []string // arguments of `go test` that must fail; nil: the simulation
}

// simulated finds a bug by simulated schedules.
var simulated = []string{"./test/simulation", "-run", "TestSchedules", "-args", "-schedules", "400", "-stop", "1"}

// collected finds a bug by the tests of gc.
var collected = []string{"./internal/store/collect"}

var all = []mutant{
	{
		name: "gc deletes a blob instead of putting it into the trash", file: "internal/store/collect/sweep.go",
		was:  "if err := c.b.Copy(ctx, key, store.TrashPrefix+key); err != nil {",
		now:  "if false {\n\t\t\tvar err error",
		find: collected,
	},
	{
		name: "gc removes what is young", file: "internal/store/collect/collect.go",
		was: "return c.now.Sub(c.objects[key].Written) > c.p.Grace }", now: "return true }", find: collected,
	},
	{
		name: "gc removes what forks of deleted runs need", file: "internal/store/collect/sweep.go",
		was: "!c.removable(key) || c.kept[key] ||", now: "!c.removable(key) ||", find: collected,
	},
	{
		name: "a deletion looks once", file: "internal/store/collect/delete.go",
		was: "if err := needed(ctx, b, name, running); err != nil {\n\t\treturn errors.Join(",
		now: "if false {\n\t\tvar err error\n\t\treturn errors.Join(", find: collected,
	},
	{
		name: "a worker of another version grades", file: "activities/credit.go",
		was: "m.sameAs(ctx, s, id.Epoch, nil); err != nil {",
		now: "m.sameAs(ctx, s, id.Epoch, nil); err != nil && false {",
	},
	{
		name: "a worker of another version trains", file: "activities/update.go",
		was: "g.sameAs(ctx, s, id.Epoch, nil); err != nil {",
		now: "g.sameAs(ctx, s, id.Epoch, nil); err != nil && false {",
	},
	{
		name: "half a blob stays", file: "internal/store/blob.go",
		was: "ok && fault.KindOf(err) == fault.Corrupt {", now: "ok && fault.KindOf(err) == \"\" {",
	},
	{
		name: "every 404 says that an object does not exist", file: "internal/store/s3.go",
		was: `e.Code == minio.NoSuchKey && e.XMLName.Local == "Error"`, now: `e.Code == minio.NoSuchKey`,
		find: []string{"./internal/store", "-run", "TestOnlyAnS3Server"}, // runs survive it: a record is read back
	},
	{
		name: "a conflict counts as an object that exists", file: "internal/store/s3.go",
		was: "if status(err) == http.StatusPreconditionFailed {\n",
		now: "if status(err) == http.StatusConflict {\n\t\treturn false, nil\n\t}\n" +
			"\tif status(err) == http.StatusPreconditionFailed {\n",
		find: []string{"./internal/store", "-run", "TestAConflictIsTriedAgain"}, // runs survive it, too
	},
	{
		name: "a write whose answer is lost counts as done", file: "internal/store/s3.go",
		was: "return false, fault.New(fault.Transient, \"write %s: %w\", key, err)",
		now: "return true, nil",
	},
	{
		name: "half a body counts as the whole", file: "internal/store/s3.go",
		was: "_ = o.Close()", now: "_ = o.Close()\n\t\tif err == io.ErrUnexpectedEOF {\n\t\t\terr = nil\n\t\t}",
	},
	{
		name: "a blob is named before it is read back", file: "internal/store/blob.go",
		was: "if _, err := b.PutOnce(ctx, r.Key, body); err != nil {",
		now: "if _, err := b.PutOnce(ctx, r.Key, body); true {",
	},
	{
		name: "a record is not recorded if the store fails", file: "internal/store/manifest.go",
		was: "PutOnce(ctx, key, raw)\n\tif err != nil {\n\t\treturn v, Ref{}, err\n\t}\n\tif !created {",
		now: "PutOnce(ctx, key, raw)\n\tif err == nil && !created {",
	},
	{
		name: "a replay that shows another screen goes on", file: "activities/rollout.go",
		was: "if err == nil && step.ObservationDigest != seen {",
		now: "if err == nil && step.ObservationDigest == \"\" {",
	},
	{
		name: "the decisions of another attempt have other seeds", file: "activities/rollout.go",
		was: `domain.Seed(a.slot.Seed, "step", t.Number))`,
		now: `domain.Seed(a.slot.Seed, "step", t.Number, a.number))`,
	},
	{
		name: "an episode keeps the steps of the environment that broke", file: "activities/rollout.go",
		was: "\t\te = runs.Episode{}\n", now: "",
	},
	{
		name: "a void attempt is the episode of its slot", file: "internal/store/runs/read.go",
		was: `if err != nil || e.Void == "" && e.Failed == "" {`, now: `if err != nil || e.Failed == "" {`,
	},
	{
		name: "a transient fault is not tried again", file: "activities/activities.go",
		was: "case fault.Invalid, fault.Refused,", now: "case fault.Transient, fault.Invalid, fault.Refused,",
	},
	{
		name: "a throttled call is not tried again", file: "activities/activities.go",
		was: "case fault.Invalid, fault.Refused,", now: "case fault.Throttled, fault.Invalid, fault.Refused,",
	},
	{
		name: "slots that failed are not played again", file: "activities/rollout.go",
		was: "if err != nil || !again {", now: "if err != nil || !again || true {",
		find: []string{"./workflows", "-run", "TestFailedSlotsArePlayedAgainWhenAPersonSaysSo"},
	},
	{
		name: "what a person accepted is forgotten", file: "workflows/epoch.go",
		was: "case plan.Accepted:", now: "case plan.Accepted && false:",
		find: []string{"./workflows", "-run", "TestARunGoesOnWithoutFailedSlotsWhenAPersonSaysSo"},
	},
	{
		name: "a page of another site is answered", file: "internal/policy/serving/guard.go",
		was: "case foreign(r):", now: "case foreign(r) && false:",
		find: []string{"./internal/policy/serving"},
	},
	{
		name: "a pause for infrastructure waits for a person", file: "workflows/stage.go",
		was: "r.status.Held || !again, true, why", now: "r.status.Held || !again || true, true, why",
	},
	{
		name: "a stage that fails ends the run", file: "workflows/stage.go",
		was: "if err == nil || temporal.IsCanceledError(err) {", now: "if true {",
	},
	{
		name: "a run continues one epoch too late", file: "internal/store/runs/read.go",
		was: "return low, nil", now: "return low + 1, nil",
	},
	{
		name: "eight void attempts fail a slot", file: "activities/rollout.go",
		was: "if a.replaced <= maxReplacements {", now: "if a.replaced <= maxReplacements && a.number <= 8 {",
		find: []string{"./workflows", "-run", "TestInfrastructureNeverFailsASlot"},
	},
	{
		name: "a refused prompt is a mistake of the agent", file: "internal/method/credit/credit.go",
		was: `case len(right) == 0, cell.Refused != "":`, now: `case len(right) == 0:`,
		find: []string{"./workflows", "-run", "TestARefusedPromptIsACellThatSaysNothing"},
	},
	{
		name: "a request that stalls is waited for", file: "internal/store/stall.go",
		was: "b.stalled.Reset(b.limit)", now: "b.stalled.Stop()",
		find: []string{"./internal/store", "-run", "TestARequestThatMakesNoProgressEnds"},
	},
	{
		name: "an activity that hangs beats", file: "activities/activities.go",
		was: "if silence > maxSilence {", now: "if silence < 0 {",
		find: []string{"./activities", "-run", "TestAnActivityThat", "-timeout", "60s"},
	},
	{
		name: "an epoch is committed with pairs missing", file: "activities/commit.go",
		was: "if got != want {", now: "if got > want {",
		find: []string{"./workflows", "-run", "TestAnEpochWithAnIncompleteDataSetIsNotCommitted"},
	},
	{
		name: "a stop is forgotten", file: "workflows/stage.go",
		was: "r.status.Stopping = true", now: "r.status.Stopping = false",
		find: []string{"./workflows", "-run", "TestAnEpochWithAnIncompleteDataSetIsNotCommitted"},
	},
}

func TestEveryMutantIsFound(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range all {
		t.Run(m.name, func(t *testing.T) {
			source, err := os.ReadFile(filepath.Join(root, m.file))
			if err != nil {
				t.Fatal(err)
			}
			if n := strings.Count(string(source), m.was); n != 1 {
				t.Fatalf("%s has %d places with %q, want one: mend the mutant", m.file, n, m.was)
			}
			find := m.find
			if find == nil {
				find = simulated
			}
			out, err := run(t, root, m, strings.Replace(string(source), m.was, m.now, 1), find)
			switch {
			case err == nil:
				t.Errorf("go test %s passes, want it to fail", strings.Join(find, " "))
			case !strings.Contains(out, "--- FAIL"):
				t.Errorf("go test printed, want a test that fails:\n%.2000s", out)
			}
		})
	}
}

// run runs tests with a mutant instead of the file.
func run(t *testing.T, root string, m mutant, text string, find []string) (string, error) {
	t.Helper()
	dir := t.TempDir()
	file, overlay := filepath.Join(dir, "mutant.go"), filepath.Join(dir, "overlay.json")
	raw, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(root, m.file): file}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(overlay, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"test", "-vet=off", "-overlay", overlay}, find...)...)
	cmd.Dir = root
	out, err := cmd.CombinedOutput()

	return string(out), err
}
