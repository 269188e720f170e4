package workflows_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	experimentactivities "github.com/collabui/collabui/activities/experiment"
	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/experiment"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/experiments"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/test/kit/testrun"
	"github.com/collabui/collabui/trainer"
	"github.com/collabui/collabui/workers/catalog"
	"github.com/collabui/collabui/workflows"
)

// compared is an experiment with three arms: a fork, and one that only shares the base policy.
func compared() experiment.Experiment {
	s := testrun.Small()
	s.Epochs, s.Slots = 2, 6

	return experiment.Experiment{
		Name: "x", About: "a test", Spec: s, Seeds: 2, Episodes: map[string]int{domain.SplitTestSeeds: 8},
		Arms: []experiment.Arm{
			{Name: "full"},
			{Name: "rft", Set: map[string]string{"preference": "rft"}},
			{Name: "one", Set: map[string]string{
				"agents": "1", "rounds": "1", "decoding.temperatures": "[0.2]",
			}},
		},
		Contrasts: []experiment.Contrast{
			{Of: "full/trained", Minus: "full/base", Split: domain.SplitTestSeeds, Primary: true},
			{Of: "full/trained", Minus: "full/trained-shuffled", Split: domain.SplitTestSeeds},
			{Of: "full/trained-silent", Minus: "full/trained-alone", Split: domain.SplitTestSeeds},
			{Of: "full/trained-less", Minus: "full/trained-oneround", Split: domain.SplitTestSeeds},
			{Of: "rft/trained", Minus: "full/imitation", Split: domain.SplitTestSeeds},
			{Of: "one/trained", Minus: "one/base", Split: domain.SplitTestSeeds},
		},
	}
}

// conduct declares an experiment and plays it. Temporal suggests after every arm that it continues as new.
func conduct(t *testing.T, r *testrun.Run, x experiment.Experiment) (experiments.Result, error) {
	t.Helper()
	v, err := experiments.Declare(t.Context(), r.Bucket, x, "ann", time.Now())
	if err != nil {
		return experiments.Result{}, err
	}
	in := workflows.ExperimentInput{ID: experimentactivities.ID{Name: x.Name, Version: v.Number}}
	for {
		env := r.Environment()
		env.SetContinueAsNewSuggested(true)
		env.ExecuteWorkflow(workflows.Experiment, in)
		err := env.GetWorkflowError()
		var next *workflow.ContinueAsNewError
		if errors.As(err, &next) {
			before := in.Done
			if err := converter.GetDefaultDataConverter().FromPayloads(next.Input, &in); err != nil {
				return experiments.Result{}, err
			}
			if in.Done != before+1 {
				t.Fatalf("after arm %d it continues with %d arms that are played, want one more", before, in.Done)
			}

			continue
		}
		if err != nil {
			return experiments.Result{}, err
		}

		return read(t, r, experiments.Experiment(x.Name).Result(v.Number)), nil
	}
}

func TestAnExperimentSharesWhatItsArmsHaveEqual(t *testing.T) {
	t.Parallel()
	r := testrun.New(t, testrun.Small())
	c := count(r)
	x := compared()
	result, err := conduct(t, r, x)
	if err != nil {
		t.Fatal(err)
	}
	clean(t, r)

	for seed := 1; seed <= x.Seeds; seed++ {
		full, rft, one := runs.Run(x.Run("full", seed)), runs.Run(x.Run("rft", seed)), runs.Run(x.Run("one", seed))
		if read(t, r, rft.Origin()).Run != string(full) {
			t.Errorf("the run of rft has the origin %+v, want a fork of %s", read(t, r, rft.Origin()), full)
		}
		for slot := 1; slot <= 6; slot++ {
			if runs.Digest(read(t, r, full.Credits(1, slot))) != runs.Digest(read(t, r, rft.Credits(1, slot))) {
				t.Errorf("slot %d of epoch 1 has other labels in rft, want those of full", slot)
			}
		}
		if a, b := read(t, r, full.Base()).Policy, read(t, r, one.Base()).Policy; a != b {
			t.Errorf("one begins with %v, want the base policy of full, %v", b, a)
		}
	}

	if len(result.Rows) != 6 || len(result.Systems) != 2 || result.Rows[0].Late || len(result.Rows[0].Seeds) != 2 {
		t.Errorf("the result is %+v, want a row for every contrast, over two seeds", result)
	}
	for _, row := range result.Rows {
		if of := result.Systems[0][row.Of+" on test-seeds"]; of.Episodes != 8 {
			t.Errorf("%s has %d episodes, want 8", row.Of, of.Episodes)
		}
	}
	for arm, agents := range map[string]int{"full": 4, "rft": 4, "one": 1} {
		if u := result.Updates[arm]; u.All != agents*2*x.Seeds || u.Counted > u.All {
			t.Errorf("%s has %+v, want %d updates", arm, u, agents*2*x.Seeds)
		}
	}
	if result.Updates["full"].Counted == 0 {
		t.Errorf("no update of full counts, want some: %+v", result.Updates)
	}
	wantReaders(t, result)

	// Once more, nothing is repeated; a contrast that is added is marked, and only it is played.
	c.calls, c.jobs = 0, 0
	if _, err := conduct(t, r, x); err != nil || c.calls > 0 || c.jobs > 0 {
		t.Errorf("a second time makes %d calls and %d jobs, %v, want none", c.calls, c.jobs, err)
	}
	x.Contrasts = append(slices.Clone(x.Contrasts), experiment.Contrast{
		Of: "full/trained-agent1", Minus: "full/base", Split: domain.SplitTestSeeds,
	})
	played := r.Suite.Episodes
	result, err = conduct(t, r, x)
	if err != nil {
		t.Fatal(err)
	}
	last := len(result.Rows) - 1
	if result.Rows[0].Late || !result.Rows[last].Late || result.Rows[last].Version != 2 {
		t.Errorf("the rows are %+v, want only the last one marked as declared late", result.Rows)
	}
	if n := r.Suite.Episodes - played; n != 2*8 || c.jobs > 0 {
		t.Errorf("%d episodes and %d jobs for a contrast that was added, want 16 and none", n, c.jobs)
	}
}

// wantReaders checks that the systems whose agents read in several rounds have their readers counted, beside the
// silent system if it played.
func wantReaders(t *testing.T, result experiments.Result) {
	t.Helper()
	for system, compared := range map[string]bool{
		"full/trained": true, "full/trained-shuffled": true, "full/base": false, "full/trained-less": false,
		"full/imitation": false, "rft/trained": false,
	} {
		readers, ok := result.Readers[system+" on test-seeds"]
		if !ok || readers.With.Right()+readers.With.Wrong() == 0 || (readers.Without != nil) != compared {
			t.Errorf("the readers of %s are %+v, want answers that were compared, also without messages: %v",
				system, readers, compared)
		}
		if compared && readers.Without.Right()+readers.Without.Wrong() == 0 {
			t.Errorf("the readers of %s are %+v, want answers without messages", system, readers)
		}
	}
	if len(result.Readers) != 6 {
		t.Errorf("the readers are %v, want those of 6 systems only", result.Readers)
	}
}

// TestAnExperimentPlaysWhatALiarRepeats plays a system with a liar, and an arm with random negatives, although no
// contrast names the system whose messages the liar repeats.
func TestAnExperimentPlaysWhatALiarRepeats(t *testing.T) {
	t.Parallel()
	r := testrun.New(t, testrun.Small())
	x := compared()
	x.Spec.Epochs = 1
	x.Arms = []experiment.Arm{x.Arms[0], {Name: "random", Set: map[string]string{"adversary.model": "random"}}}
	x.Contrasts = []experiment.Contrast{
		{Of: "full/base-liar", Minus: "full/base-whole", Split: domain.SplitTestSeeds, Primary: true},
		{Of: "random/trained", Minus: "full/trained", Split: domain.SplitTestSeeds},
	}
	if err := x.Validate(catalog.All{}); err != nil {
		t.Fatal(err)
	}
	result, err := conduct(t, r, x)
	if err != nil {
		t.Fatal(err)
	}
	clean(t, r)

	for _, system := range []string{"full/base", "full/base-liar", "full/base-whole", "random/trained"} {
		if got := result.Systems[0][system+" on test-seeds"]; got.Episodes != 8 {
			t.Errorf("%s has %d episodes, want 8", system, got.Episodes)
		}
	}
	full, random := runs.Run(x.Run("full", 1)), runs.Run(x.Run("random", 1))
	proposed, rejected := 0, 0
	for slot := 1; slot <= 6; slot++ {
		if runs.Digest(read(t, r, full.Credits(1, slot))) != runs.Digest(read(t, r, random.Credits(1, slot))) {
			t.Errorf("slot %d has other labels in random, want those of full", slot)
		}
		pairs := read(t, r, random.Pairs(1, slot))
		for _, call := range pairs.Calls {
			proposed += len(call.Texts)
			if call.Model != "random" || call.Usage.Prompt > 0 {
				t.Errorf("%s proposed %v for %+v, want random actions that cost nothing",
					call.Model, call.Texts, call.Usage)
			}
		}
		rejected += pairs.Counts.Pairs[domain.SourceAdversary]
	}
	if proposed == 0 || rejected == 0 {
		t.Errorf("%d random actions are proposed and %d rejected, want some", proposed, rejected)
	}
}

// TestAnArmWithOtherAgentsRepeatsNoLevels lets an arm share the base policy of a curriculum. It must not be trained on
// the levels a second time.
func TestAnArmWithOtherAgentsRepeatsNoLevels(t *testing.T) {
	t.Parallel()
	r := testrun.New(t, testrun.Tiny())
	x := compared()
	x.Spec = testrun.Tiny()
	x.Spec.FineTune.Levels, x.Spec.FineTune.Steps.Level2 = []int{2}, 4
	x.Arms, x.Contrasts = []experiment.Arm{x.Arms[0], x.Arms[2]}, x.Contrasts[5:]
	if _, err := conduct(t, r, x); err != nil {
		t.Fatal(err)
	}
	full, one := runs.Run(x.Run("full", 1)), runs.Run(x.Run("one", 1))
	if a, b := read(t, r, full.Base()).Policy, read(t, r, one.Base()).Policy; a != b {
		t.Errorf("one begins with %v, want the base policy of full, %v", b, a)
	}
}

func TestAnArmTrainsAnotherFurtherOnAnotherEnvironment(t *testing.T) {
	t.Parallel()
	r := testrun.New(t, testrun.Small())
	r.Deps.Open = func(envadapters.Options) (envadapters.Suite, error) { return r.Suite, nil }
	x := compared()
	x.Spec.Environments = map[string]envadapters.Options{"new": {Suite: "webtasks", Without: []string{"tap-link"}}}
	x.Arms = []experiment.Arm{x.Arms[0], {Name: "more", From: "full", Set: map[string]string{
		"environment": "new", "epochs": "1", "focus": `{templates: ["a*"], share: 0.5}`,
	}}}
	x.Episodes["new.test-seeds"] = 6
	x.Contrasts = []experiment.Contrast{
		{Of: "more/trained", Minus: "full/trained", Split: "new.test-seeds", Primary: true},
		{Of: "more/trained", Minus: "full/trained", Split: domain.SplitTestSeeds},
		{Of: "full/trained", Minus: "full/base-alone", Split: "new.test-seeds"},
	}
	if err := x.Validate(catalog.All{}); err != nil {
		t.Fatal(err)
	}
	result, err := conduct(t, r, x)
	if err != nil {
		t.Fatal(err)
	}
	clean(t, r)

	for seed := 1; seed <= x.Seeds; seed++ {
		full, more := runs.Run(x.Run("full", seed)), runs.Run(x.Run("more", seed))
		best, origin := read(t, r, full.End()).Best, read(t, r, more.Origin())
		if origin.Run != string(full) || origin.Epoch != best {
			t.Errorf("more begins with epoch %d of %s, want %d of %s", origin.Epoch, origin.Run, best, full)
		}
		if best > 0 && read(t, r, more.Epoch(best)).Digest != read(t, r, full.Epoch(best)).Digest {
			t.Errorf("the digest of epoch %d of more differs, want that of full", best)
		}
		ep, _, err := more.Episode(t.Context(), r.Bucket, best+1, 1)
		if err != nil || ep.Slot.Task.Suite != "new" {
			t.Errorf("more trains on %+v, %v, want tasks of new", ep.Slot.Task, err)
		}
	}
	for i, n := range []int{6, 8, 6} {
		row := result.Rows[i]
		if of := result.Systems[1][row.Of+" on "+row.Split]; of.Episodes != n {
			t.Errorf("%s has %d episodes, want %d", row, of.Episodes, n)
		}
	}
}

func TestADeclarationCannotChangeUnderItsResults(t *testing.T) {
	t.Parallel()
	r := testrun.New(t, testrun.Small())
	declare := func(change func(*experiment.Experiment)) error {
		x := compared()
		change(&x)
		_, err := experiments.Declare(t.Context(), r.Bucket, x, "ann", time.Now())

		return err
	}
	if err := declare(func(*experiment.Experiment) {}); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*experiment.Experiment){
		"arm rft has other values": func(x *experiment.Experiment) { x.Arms[1].Set = map[string]string{"slots": "9"} },
		"arm one has other values": func(x *experiment.Experiment) { x.Arms[2].From = "full" },
		"first arm has changed":    func(x *experiment.Experiment) { x.Arms = slices.Clone(x.Arms[1:]) },
		"its specification":        func(x *experiment.Experiment) { x.Spec.Slots++ },
		"8 episodes of test-seeds": func(x *experiment.Experiment) { x.Episodes = map[string]int{"test-seeds": 9} },
	} {
		if err := declare(change); fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), want) {
			t.Errorf("Declare = %v, want an invalid fault with %q", err, want)
		}
	}
	if err := declare(func(x *experiment.Experiment) { x.Seeds = 9 }); err != nil {
		t.Errorf("Declare with more seeds = %v, want no error", err)
	}
}

func TestTheTrainedSystemOfARunThatGainedNothingIsItsBase(t *testing.T) {
	t.Parallel()
	r := testrun.New(t, testrun.Small())
	x := compared()
	x.Arms, x.Spec.Pairs.MinPairs = x.Arms[:1], 9999 // every update keeps its parent
	x.Contrasts = []experiment.Contrast{
		{Of: "full/trained", Minus: "full/base", Split: domain.SplitTestSeeds},
		{Of: "full/imitation", Minus: "full/base", Split: domain.SplitTestSeeds},
	}
	result, err := conduct(t, r, x)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range result.Rows {
		if row.Mean != 0 || row.OfRate != row.MinusRate {
			t.Errorf("%s is %v − %v, want equal rates", row.Contrast, row.OfRate, row.MinusRate)
		}
	}
}

func TestAnExperimentThatWasCutShortHasTheSameTable(t *testing.T) {
	t.Parallel()
	x := compared()
	x.Arms, x.Contrasts, x.Seeds = x.Arms[:2], x.Contrasts[:5], 2
	want, err := conduct(t, testrun.New(t, testrun.Small()), x)
	if err != nil {
		t.Fatal(err)
	}

	r := testrun.New(t, testrun.Small())
	sound := r.Deps.Trainers
	r.Deps.Trainers = map[string]trainer.Trainer{spec.Embedded: breaks{sound[spec.Embedded], "/x-rft-s1/"}}
	v, err := experiments.Declare(t.Context(), r.Bucket, x, "ann", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	env := r.Environment()
	env.RegisterDelayedCallback(env.CancelWorkflow, 3*time.Hour) // the run of rft is held by then
	env.ExecuteWorkflow(workflows.Experiment, workflows.ExperimentInput{
		ID: experimentactivities.ID{Name: x.Name, Version: v.Number},
	})
	if err := env.GetWorkflowError(); !temporal.IsCanceledError(err) {
		t.Fatalf("the experiment ends with %v, want it cancelled", err)
	}
	r.Deps.Trainers = sound
	got, err := conduct(t, r, x)
	if err != nil || runs.Digest(got.Rows) != runs.Digest(want.Rows) {
		t.Errorf("the rows are %+v, %v; want those of the undisturbed experiment, %+v", got.Rows, err, want.Rows)
	}
	clean(t, r)
}

// breaks is a trainer that always fails in a run.
type breaks struct {
	trainer.Trainer
	run string
}

func (b breaks) Train(ctx context.Context, j trainer.Job, say trainer.Progress) (trainer.Result, error) {
	if strings.Contains(j.ID, b.run) {
		return trainer.Result{}, fault.New(fault.Fatal, "the trainer breaks")
	}

	return b.Trainer.Train(ctx, j, say)
}
