// Package update has the activities that train the agents on the pairs of an epoch, measure the gates, and publish the
// policies. It does not know how pairs are made.
package update

import (
	"context"
	"fmt"
	"slices"

	"github.com/collabui/collabui/activities"
	"github.com/collabui/collabui/activities/training"
	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/credit"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/observe/events"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/trainer"
)

// Updated is an update in a few figures.
type Updated struct {
	Pairs int
	Steps int
	Kept  string // why the parent policy was kept
	KL    float64
	Host  string // the host that did it, or found it done

	StepSeconds float64 `json:",omitempty"` // of an optimiser step, if it did it
}

// Update is the preference optimisation of one agent: data set, training, gates. Each is recorded, and training resumes
// from its checkpoints.
func (g *GPU) Update(ctx context.Context, id AgentID) (Updated, error) {
	log := g.Log.For(id.Run, "epoch", id.Epoch, "agent", id.Agent)

	return activities.Do(ctx, log, func(ctx context.Context, progress activities.Progress) (Updated, error) {
		var pace training.Pace
		writer, err := g.Runs.Writer(ctx, id.Run)
		if err != nil {
			return Updated{}, err
		}
		recorded := runs.Run(id.Run).Update(id.Epoch, id.Agent)
		update, _, err := recorded.Record(ctx, g.Bucket, func() (runs.Update, error) {
			report := func(what string) { progress(fmt.Sprintf("agent %d: %s", id.Agent, what)) }
			update, err := g.update(ctx, id, report, &pace)
			update.By = writer.By

			return update, err
		})
		if err := writer.Check(recorded.Key, update.By, err); err != nil {
			return Updated{}, err
		}
		dataset, _, err := store.Must[runs.Dataset](ctx, g.Bucket, update.Dataset.Key)
		if err != nil {
			return Updated{}, err
		}

		g.warnOfStyle(id, dataset)
		g.Emit.Send(id.Run, events.Update{
			Epoch: id.Epoch, Agent: id.Agent, Pairs: dataset.Count - dataset.Card.Right, Steps: update.Steps,
			Kept: update.Kept,
		})

		return Updated{
			Pairs: dataset.Count - dataset.Card.Right, Steps: update.Steps, Kept: update.Kept, KL: update.Probe.KL,
			Host: activities.Hostname(), StepSeconds: pace.PerStep(),
		}, nil
	})
}

// warnOfStyle warns if words alone distinguish the chosen from the rejected answers of a data set.
func (g *GPU) warnOfStyle(id AgentID, dataset runs.Dataset) {
	auc := dataset.Card.StyleAUC
	by := dataset.Card.BySource
	unpaired := by[domain.SourceGroup] + by[domain.SourceNone] - dataset.Card.Right
	if auc <= credit.StyleLimit || unpaired > 0 {
		return
	}
	g.Emit.Send(id.Run, events.Warning{Epoch: id.Epoch, Agent: id.Agent, Text: fmt.Sprintf(
		"words alone, without the screen, tell chosen from rejected answers with an AUC of %.2f (0.5: not at "+
			"all, 1: always; above %.2f it matters): preference optimisation may learn the style of answers, "+
			"such as one type of action, instead of the choice. The export of the run has the pairs; "+
			"pairs.balance_types: true evens out types of actions, and pairs.kind: positive leaves out "+
			"corrections by peers", auc, credit.StyleLimit)})
}

func (g *GPU) update(
	ctx context.Context, id AgentID, progress activities.Progress, pace *training.Pace,
) (runs.Update, error) {
	g.Jobs.Data.Store(nil) // stage 1 has ended
	specification, err := g.Runs.Spec(ctx, id.Run, id.Epoch)
	if err != nil {
		return runs.Update{}, err
	}
	run := runs.Run(id.Run)
	if specification.Parameters == spec.ParametersShared && id.Agent > 0 {
		// One policy for all: agent 0 is trained on the pairs of all agents.
		first, _, err := run.Update(id.Epoch, 0).Must(ctx, g.Bucket)
		first.Agent = id.Agent
		first.Curve = nil
		first.Canaries = nil

		return first, err
	}

	standing, err := run.Standing(ctx, g.Bucket, id.Epoch-1, specification.Agents)
	if err != nil {
		return runs.Update{}, err
	}
	if err := g.Runs.CheckVersions(ctx, specification, id.Epoch, nil); err != nil {
		return runs.Update{}, err
	}
	base, _, err := run.Base().Must(ctx, g.Bucket)
	if err != nil {
		return runs.Update{}, err
	}
	ref, pairs, err := g.dataset(ctx, specification, id)
	if err != nil {
		return runs.Update{}, err
	}

	parent := standing.Policies[id.Agent]
	update := runs.Update{Agent: id.Agent, Parent: parent, Policy: parent, Dataset: ref}
	update.Without, err = run.RowsOut(ctx, g.Bucket, id.Epoch, id.Agent)
	if err != nil {
		return update, err
	}
	pairs = without(pairs, update.Without)
	compared := pairs // rows that count as pairs
	if specification.LearnsRight() {
		compared, _ = rules.SplitRows(pairs)
	}
	if len(compared) < specification.Pairs.MinPairs {
		update.Kept = fmt.Sprintf("%d pairs are fewer than min_pairs %d", len(compared), specification.Pairs.MinPairs)

		return update, nil
	}

	job := updateJob(specification, id, update, base.Policy, pairs)
	job.Skip, err = g.Jobs.Skip(ctx, specification, id.Epoch)
	if err != nil {
		return update, err
	}
	got, err := g.Jobs.Train(ctx, specification, job, progress, pace)
	if err != nil {
		return update, err
	}
	update.Steps = got.Steps
	update.Skipped = got.Skipped
	update.Curve = got.Curve
	update.Report = got.Report
	if err := g.checkRowsOut(ctx, id, update); err != nil {
		return update, err
	}
	update.Kept = whyKept(got, len(compared), specification.Pairs.MinPairs)
	if update.Kept != "" {
		return update, nil
	}
	update.Policy = runs.Policy{Digest: got.Digest, Tensor: got.TensorDigest}
	progress("the trainer scores canaries")
	if err := g.scoreCanaries(ctx, specification, id, &update, compared); err != nil {
		return update, err
	}

	progress(fmt.Sprintf("%d steps are made; the gates measure what they changed", update.Steps))

	return g.gate(ctx, specification, id, update, compared, base.Policy.Digest)
}

// checkRowsOut returns a transient fault if a person left out rows while an update was trained on them.
func (g *GPU) checkRowsOut(ctx context.Context, id AgentID, update runs.Update) error {
	now, err := runs.Run(id.Run).RowsOut(ctx, g.Bucket, id.Epoch, id.Agent)
	if err == nil && len(now) > len(update.Without) {
		err = fault.New(fault.Transient, "a person left out rows of agent %d meanwhile: it is trained without them",
			id.Agent)
	}

	return err
}

// whyKept returns why the parent policy is kept after a job on a number of pairs. It is empty if the new policy counts.
func whyKept(got trainer.Result, pairs, fewest int) string {
	if got.Diverged != "" {
		return got.Diverged
	}
	if left := pairs - got.Skipped; left < fewest {
		return fmt.Sprintf("%d of %d pairs could be trained on, fewer than min_pairs %d", left, pairs, fewest)
	}

	return ""
}

// without returns the pairs without some rows, which count from 1 and are in order.
func without(pairs []domain.Example, rows []int) []domain.Example {
	for _, row := range slices.Backward(rows) {
		pairs = slices.Delete(pairs, row-1, row)
	}

	return pairs
}

// updateJob returns the training job of an agent's update.
func updateJob(s spec.Spec, id AgentID, update runs.Update, base runs.Policy, pairs []domain.Example) trainer.Job {
	job := trainer.Job{
		ID:        runs.Run(id.Run).Job(id.Epoch, id.Agent, update.Without),
		Objective: trainer.DPO, Pairs: pairs, Params: s.Train,
		Start: update.Parent.Digest, Reference: base.Digest, Seed: domain.Seed(s.Seed, "update", id.Epoch, id.Agent),
	}
	if s.Reference == spec.ReferenceEpochStart {
		job.Reference = update.Parent.Digest
	}
	switch s.Preference {
	case spec.PreferenceRFT:
		job.Objective = trainer.SFT
	case spec.PreferenceGRPO:
		job.Objective = trainer.GRPO
	}

	return job
}
