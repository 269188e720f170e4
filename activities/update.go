package activities

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/chat"
	"github.com/collabui/collabui/internal/method/credit"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/observe/events"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/trainer"
)

// GPU updates policies. With the embedded trainer it needs no GPU.
type GPU struct {
	Common
	Trainers map[string]trainer.Trainer // trainers by their names in specifications
	Policies chat.Model                 // answers for the policies; probes ask it
	Scores   chat.Scorer                // scores answers under the policies; probes ask it
	Threads  int                        // threads of one update

	stage1 atomic.Pointer[demonstrations] // what this process trained a chunk on last

	// Load publishes a policy to a number of servers; 0 means all.
	Load func(ctx context.Context, policy string, quorum int) error
	// Ready returns why fewer policy servers than a quorum are healthy; 0 means all. nil: it is not known.
	Ready func(ctx context.Context, quorum int) error
}

// AgentID names one agent's update.
type AgentID struct {
	Run   string
	Epoch int
	Agent int
}

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
	log := g.log(id.Run, "epoch", id.Epoch, "agent", id.Agent)

	return do(ctx, log, func(ctx context.Context, say say) (Updated, error) {
		var at pace
		own, err := g.own(ctx, id.Run)
		if err != nil {
			return Updated{}, err
		}
		update := runs.Run(id.Run).Update(id.Epoch, id.Agent)
		u, _, err := update.Record(ctx, g.Bucket, func() (runs.Update, error) {
			u, err := g.update(ctx, id, func(what string) { say(fmt.Sprintf("agent %d: %s", id.Agent, what)) }, &at)
			u.By = own.By

			return u, err
		})
		if err := own.check(update.Key, u.By, err); err != nil {
			return Updated{}, err
		}
		d, _, err := store.Must[runs.Dataset](ctx, g.Bucket, u.Dataset.Key)
		if err != nil {
			return Updated{}, err
		}

		out := Updated{Pairs: d.Count, Steps: u.Steps, Kept: u.Kept, KL: u.Probe.KL, Host: Hostname()}
		out.StepSeconds = at.perStep()
		unpaired := d.Card.BySource[domain.SourceGroup] + d.Card.BySource[domain.SourceNone]
		if d.Card.StyleAUC > credit.StyleLimit && unpaired == 0 {
			g.Emit.send(id.Run, events.Warning{Epoch: id.Epoch, Agent: id.Agent, Text: fmt.Sprintf(
				"words alone, without the screen, tell chosen from rejected answers with an AUC of %.2f (0.5: not at "+
					"all, 1: always; above %.2f it matters): preference optimisation may learn the style of answers, "+
					"such as one type of action, instead of the choice. The export of the run has the pairs; "+
					"pairs.balance_types: true evens out types of actions, and pairs.kind: positive leaves out "+
					"corrections by peers", d.Card.StyleAUC, credit.StyleLimit)})
		}
		g.Emit.send(id.Run, events.Update{
			Epoch: id.Epoch, Agent: id.Agent, Pairs: out.Pairs, Steps: out.Steps, Kept: out.Kept,
		})

		return out, nil
	})
}

func (g *GPU) update(ctx context.Context, id AgentID, say say, at *pace) (runs.Update, error) {
	g.stage1.Store(nil) // it is over
	s, err := g.spec(ctx, id.Run, id.Epoch)
	if err != nil {
		return runs.Update{}, err
	}
	run := runs.Run(id.Run)
	if s.Parameters == spec.ParametersShared && id.Agent > 0 {
		// One policy for all: agent 0 is trained on everyone's pairs.
		first, _, err := run.Update(id.Epoch, 0).Must(ctx, g.Bucket)
		first.Agent, first.Curve = id.Agent, nil

		return first, err
	}

	standing, err := run.Standing(ctx, g.Bucket, id.Epoch-1, s.Agents)
	if err != nil {
		return runs.Update{}, err
	}
	if err := g.sameAs(ctx, s, id.Epoch, nil); err != nil {
		return runs.Update{}, err
	}
	base, _, err := run.Base().Must(ctx, g.Bucket)
	if err != nil {
		return runs.Update{}, err
	}
	ref, pairs, err := g.dataset(ctx, s, id)
	if err != nil {
		return runs.Update{}, err
	}

	parent := standing.Policies[id.Agent]
	u := runs.Update{Agent: id.Agent, Parent: parent, Policy: parent, Dataset: ref}
	if u.Without, err = run.RowsOut(ctx, g.Bucket, id.Epoch, id.Agent); err != nil {
		return u, err
	}
	pairs = without(pairs, u.Without)
	if len(pairs) < s.Pairs.MinPairs {
		u.Kept = fmt.Sprintf("%d pairs are fewer than min_pairs %d", len(pairs), s.Pairs.MinPairs)

		return u, nil
	}

	job := updateJob(s, id, u, base.Policy, pairs)
	if job.Skip, err = g.skip(ctx, s, id.Epoch); err != nil {
		return u, err
	}
	got, err := g.train(ctx, s, job, say, at)
	if err != nil {
		return u, err
	}
	u.Steps, u.Skipped, u.Curve, u.Report = got.Steps, got.Skipped, got.Curve, got.Report
	now, err := run.RowsOut(ctx, g.Bucket, id.Epoch, id.Agent)
	if err == nil && len(now) > len(u.Without) {
		err = fault.New(fault.Transient, "a person left out rows of agent %d meanwhile: it is trained without them",
			id.Agent)
	}
	if err != nil {
		return u, err
	}
	if u.Kept = fails(got, len(pairs), s.Pairs.MinPairs); u.Kept != "" {
		return u, nil
	}
	u.Policy = runs.Policy{Digest: got.Digest, Tensor: got.TensorDigest}

	say(fmt.Sprintf("%d steps are made; the gates measure what they changed", u.Steps))

	return g.gate(ctx, s, id, u, pairs, base.Policy.Digest)
}

// fails returns why a job on a number of pairs made no policy that counts. It is empty if it did.
func fails(got trainer.Result, pairs, fewest int) string {
	if got.Diverged != "" {
		return got.Diverged
	}
	if left := pairs - got.Skipped; left < fewest {
		return fmt.Sprintf("%d of %d pairs could be trained on, fewer than min_pairs %d", left, pairs, fewest)
	}

	return ""
}

// without returns the pairs that are left without some rows, which count from 1 and are in order.
func without(pairs []domain.Example, rows []int) []domain.Example {
	for _, row := range slices.Backward(rows) {
		pairs = slices.Delete(pairs, row-1, row)
	}

	return pairs
}

// updateJob returns the training job of an agent's update.
func updateJob(s spec.Spec, id AgentID, u runs.Update, base runs.Policy, pairs []domain.Example) trainer.Job {
	job := trainer.Job{
		ID:        runs.Run(id.Run).Job(id.Epoch, id.Agent, u.Without),
		Objective: trainer.DPO, Pairs: pairs, Params: s.Train,
		Start: u.Parent.Digest, Reference: base.Digest, Seed: domain.Seed(s.Seed, "update", id.Epoch, id.Agent),
	}
	if s.Reference == spec.ReferenceEpochStart {
		job.Reference = u.Parent.Digest
	}
	switch s.Preference {
	case spec.PreferenceRFT:
		job.Objective = trainer.SFT
	case spec.PreferenceGRPO:
		job.Objective = trainer.GRPO
	}

	return job
}
