package activities

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"go.temporal.io/sdk/activity"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/method/credit"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/process/events"
	"github.com/collabui/collabui/internal/process/failpoint"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/store/runs"
	"github.com/collabui/collabui/trainer"
)

// GPU updates policies. With the embedded trainer it needs no GPU.
type GPU struct{ *Deps }

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
	Host  string // that did it, or found it done
}

// Update is the preference optimisation of one agent: data set, training, gates. Each is recorded; training resumes from its checkpoints.
func (g *GPU) Update(ctx context.Context, id AgentID) (Updated, error) {
	say, stop := heartbeat(ctx)
	defer stop()
	u, _, err := runs.Run(id.Run).Update(id.Epoch, id.Agent).Record(ctx, g.Bucket, func() (runs.Update, error) { return g.update(ctx, id, say) })
	if err != nil {
		return done(Updated{}, err)
	}
	d, _, err := store.Read[runs.Dataset](ctx, g.Bucket, u.Dataset.Key)
	out := Updated{Pairs: d.Count, Steps: u.Steps, Kept: u.Kept, KL: u.Probe.KL, Host: hostname()}
	if d.Card.StyleAUC > credit.StyleLimit {
		g.emit(id.Run, events.Warning{Epoch: id.Epoch, Agent: id.Agent, Text: fmt.Sprintf("words alone tell chosen from rejected answers with an AUC of %.2f, above %.2f: preference optimisation may learn style instead of choice", d.Card.StyleAUC, credit.StyleLimit)})
	}
	g.emit(id.Run, events.Update{Epoch: id.Epoch, Agent: id.Agent, Pairs: out.Pairs, Steps: out.Steps, Kept: out.Kept})
	return done(out, err)
}

func (g *GPU) update(ctx context.Context, id AgentID, say func(string)) (runs.Update, error) {
	s, err := g.spec(ctx, id.Run)
	if err != nil {
		return runs.Update{}, err
	}
	if s.Parameters == spec.ParametersShared && id.Agent > 0 { // one policy for all: agent 0 is trained on everyone's pairs
		first, _, err := runs.Run(id.Run).Update(id.Epoch, 0).Read(ctx, g.Bucket)
		first.Agent, first.Curve = id.Agent, nil
		return first, err
	}
	slots, _, err := runs.Run(id.Run).Slots(id.Epoch).Read(ctx, g.Bucket)
	if err != nil {
		return runs.Update{}, err
	}
	base, _, err := runs.Run(id.Run).Base().Read(ctx, g.Bucket)
	if err != nil {
		return runs.Update{}, err
	}
	ref, pairs, err := g.dataset(ctx, s, id)
	if err != nil {
		return runs.Update{}, err
	}
	parent := slots.System.Policies[id.Agent]
	u := runs.Update{Agent: id.Agent, Parent: parent, Policy: parent, Dataset: ref}
	if len(pairs) < s.Pairs.MinPairs {
		u.Kept = fmt.Sprintf("%d pairs are fewer than min_pairs %d", len(pairs), s.Pairs.MinPairs)
		return u, nil
	}
	job := trainer.Job{ID: runs.Run(id.Run).Job(id.Epoch, id.Agent), Start: parent.Digest, Reference: base.Policy.Digest, Objective: trainer.DPO, Pairs: pairs,
		Params: s.Train, Seed: domain.Seed(s.Seed, "update", id.Epoch, id.Agent), Workers: g.Threads}
	if s.Reference == spec.ReferenceEpochStart {
		job.Reference = parent.Digest
	}
	if s.Preference == spec.PreferenceRFT {
		job.Objective = trainer.SFT
	}
	got, err := g.train(ctx, s, job, func(line string) {
		failpoint.Hit("update")
		say(line)
	})
	if err != nil {
		return u, err
	}
	u.Steps, u.Skipped, u.Curve, u.Report = got.Steps, got.Skipped, got.Curve, got.Report
	if got.Diverged != "" {
		u.Kept = got.Diverged
		return u, nil
	}
	u.Policy = runs.Policy{Digest: got.Digest, Tensor: got.TensorDigest}
	return g.gate(ctx, s, u, pairs, base.Policy.Digest)
}

// dataset gathers an agent's pairs in the order of slot, step and round.
func (g *GPU) dataset(ctx context.Context, s spec.Spec, id AgentID) (store.Ref, []domain.Pair, error) {
	all := make([][]domain.Pair, s.Slots)
	err := parallel(ctx, s.Slots, 8, func(ctx context.Context, i int) error {
		p, _, err := runs.Run(id.Run).Pairs(id.Epoch, i+1).Read(ctx, g.Bucket)
		if missing(err) { // a failed slot has none
			return nil
		}
		for _, x := range p.Pairs {
			if x.Agent == id.Agent || s.Parameters == spec.ParametersShared {
				all[i] = append(all[i], x)
			}
		}
		return err
	})
	if err != nil {
		return store.Ref{}, nil, err
	}
	var pairs []domain.Pair
	for _, x := range all {
		pairs = append(pairs, x...)
	}
	credit.Balance(pairs)
	body, err := json.Marshal(pairs)
	if err != nil {
		return store.Ref{}, nil, err
	}
	_, ref, err := runs.Run(id.Run).Dataset(id.Epoch, id.Agent).Record(ctx, g.Bucket, func() (runs.Dataset, error) {
		blob, err := store.PutBlob(ctx, g.Bucket, body)
		d := runs.Dataset{Agent: id.Agent, Body: blob, Count: len(pairs), Card: credit.Describe(pairs)}
		return d, err
	})
	return ref, pairs, err
}

// gate compares the new policy with its parent on a probe set; a breach keeps the parent and says why.
func (g *GPU) gate(ctx context.Context, s spec.Spec, u runs.Update, pairs []domain.Pair, base string) (runs.Update, error) {
	n := min(s.Gates.Probe, len(pairs))
	probe := make([]domain.Pair, n)
	for i := range probe {
		probe[i] = pairs[i*len(pairs)/n]
	}
	p, err := g.probe(ctx, s, u.Policy.Digest, u.Parent.Digest, base, probe, domain.Seed(s.Seed, "probe", u.Agent), u.Report)
	if err != nil {
		return u, err
	}
	if figures := p.KL + p.KLBase + p.LogprobDelta + p.Entropy; math.IsNaN(figures) || math.IsInf(figures, 0) {
		u.Kept, u.Policy = "the probe's figures are not numbers", u.Parent
		return u, nil
	}
	u.Probe = p
	length, types := chosen(probe)
	switch {
	case p.KL > s.Gates.MaxKL:
		u.Kept = fmt.Sprintf("KL to the parent %.2f is above %.2f nats", p.KL, s.Gates.MaxKL)
	case p.LogprobDelta < s.Gates.MinLogprob:
		u.Kept = fmt.Sprintf("log-probability of chosen answers changed by %.2f, below %.2f", p.LogprobDelta, s.Gates.MinLogprob)
	case p.ParseRate < 1-parseLoss:
		u.Kept = fmt.Sprintf("only %.0f %% of sampled answers parse", 100*p.ParseRate)
	case p.Length > s.Gates.MaxLength*length:
		u.Kept = fmt.Sprintf("sampled answers have %.0f characters on average, more than %.1f times the chosen ones' %.0f", p.Length, s.Gates.MaxLength, length)
	case p.Entropy < s.Gates.MinEntropy && (p.Entropy > 0 || !p.Served): // a server that gives no log-probabilities says nothing of it
		u.Kept = fmt.Sprintf("entropy %.3f is below %.3f nats", p.Entropy, s.Gates.MinEntropy)
	}
	for _, k := range slices.Sorted(maps.Keys(types)) {
		if share := float64(types[k]) / float64(len(probe)); u.Kept == "" && share >= s.Gates.TypeShare && p.Actions[k] == 0 {
			u.Kept = fmt.Sprintf("no sampled answer is %s, %.0f %% of the chosen ones are", k, 100*share)
		}
	}
	if u.Kept != "" {
		u.Policy = u.Parent
	}
	return u, nil
}

// chosen gives the mean length in characters and the action types of the chosen answers.
func chosen(pairs []domain.Pair) (length float64, types map[string]int) {
	types = map[string]int{}
	for _, p := range pairs {
		length += float64(len(p.Chosen)) / float64(len(pairs))
		if a, err := agents.ParseAnswer(p.Chosen); err == nil {
			types[a.Type]++
		}
	}
	return length, types
}

// parseLoss is the share of unparseable answers that an update may have.
const parseLoss = 0.05

// trainer is what updates a run's policies on this worker.
func (g *GPU) trainer(s spec.Spec) (trainer.Trainer, error) {
	t, ok := g.Trainers[s.Trainer.Name]
	if !ok {
		return nil, fault.New(fault.Invalid, "this worker was built without a trainer %q", s.Trainer.Name)
	}
	return t, nil
}

// train runs a job of a run and says how it goes. When this worker drains, the job ends and goes on elsewhere.
func (g *GPU) train(ctx context.Context, s spec.Spec, j trainer.Job, say func(string)) (trainer.Result, error) {
	t, err := g.trainer(s)
	if err != nil {
		return trainer.Result{}, err
	}
	tmpl, err := rules.Template(s)
	if err != nil {
		return trainer.Result{}, err
	}
	if j.System == "" {
		j.System = tmpl.System()
	}
	j.Workers, j.Options = g.Threads, s.Trainer.Options
	ctx, stop := untilDrained(ctx)
	defer stop()
	got, err := t.Train(ctx, j, func(p domain.TrainPoint) {
		line := fmt.Sprintf("step %d of %d, loss %.3f", p.Step, p.Steps, p.Loss)
		if p.Margin != 0 {
			line += fmt.Sprintf(", margin %.3f", p.Margin)
		}
		if p.Live != "" {
			line += ", " + p.Live
		}
		say(line)
	})
	if errors.Is(err, context.Canceled) {
		err = context.Cause(ctx)
	}
	return got, err
}

// untilDrained ends a context when the worker is asked to stop: a job of hours must not hold it, and goes on from its newest checkpoint.
func untilDrained(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		select {
		case <-activity.GetWorkerStopChannel(ctx):
			cancel(fault.New(fault.Transient, "this worker stops; the job goes on from its newest checkpoint on the next one"))
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(nil) }
}

// publish loads a policy into the servers of a run.
func (g *GPU) publish(ctx context.Context, run, policy string) error {
	s, err := g.spec(ctx, run)
	if err != nil {
		return err
	}
	return g.Load(ctx, policy, s.Serving.Quorum)
}

// Publish loads the policies of an epoch's updates into the policy servers; loaded already is success. It ends when as many servers as the specification asks for have all of them.
func (g *GPU) Publish(ctx context.Context, id EpochID) (int, error) {
	_, stop := heartbeat(ctx)
	defer stop()
	s, err := g.spec(ctx, id.Run)
	if err != nil {
		return done(0, err)
	}
	for a := range s.Agents {
		u, _, err := runs.Run(id.Run).Update(id.Epoch, a).Read(ctx, g.Bucket)
		if err == nil {
			err = g.Load(ctx, u.Policy.Digest, s.Serving.Quorum)
		}
		if err != nil {
			return done(a, err)
		}
	}
	return done(s.Agents, nil)
}
