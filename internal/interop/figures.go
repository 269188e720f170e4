package interop

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/store/runs"
)

// Records are what the figures of a run are made of: its committed epochs, evaluations, and calls to chat endpoints.
type Records struct {
	Run      runs.Run
	Spec     spec.Spec
	Epochs   []Committed // from 1
	Results  []Evaluated
	Spending []runs.Spending
	Ended    bool
}

// Committed is an epoch with the updates of its agents.
type Committed struct {
	runs.Epoch
	Updates []runs.Update
	Pairs   []int // rows of the data sets, by agent
}

// Evaluated is the result of an evaluated item.
type Evaluated struct {
	Folder string
	Epoch  int // of the systems; 0 is the base policy, and what belongs to no epoch
	runs.Result
}

// name returns the system, with the folder in front of it if that is none of an epoch.
func (e Evaluated) name() string {
	if _, ok := rules.EpochOf(e.Folder); ok {
		return e.System
	}

	return e.Folder + "/" + e.System
}

// Read reads the records of a run.
func Read(ctx context.Context, b store.Bucket, run runs.Run) (Records, error) {
	r := Records{Run: run}
	var err error
	if r.Spec, err = run.Find(ctx, b); err != nil {
		return r, err
	}
	for r.Ended, err = run.End().Exists(ctx, b); err == nil; {
		var more bool
		if more, err = r.readEpoch(ctx, b, len(r.Epochs)+1); !more {
			break
		}
	}
	if err != nil {
		return r, err
	}
	if err := r.readResults(ctx, b); err != nil {
		return r, err
	}
	if len(r.Spec.Models) > 0 {
		r.Spending, err = run.Spending(ctx, b)
	}

	return r, err
}

// readEpoch reads an epoch, and reports whether it is committed.
func (r *Records) readEpoch(ctx context.Context, b store.Bucket, number int) (bool, error) {
	epoch, committed, err := r.Run.Epoch(number).May(ctx, b)
	if err != nil || !committed {
		return false, err
	}
	c := Committed{Epoch: epoch}
	for _, ref := range epoch.Updates {
		if err != nil {
			break
		}
		var u runs.Update
		if u, _, err = store.Must[runs.Update](ctx, b, ref.Key); err != nil {
			break
		}
		var set runs.Dataset
		if u.Dataset.Key != "" {
			set, _, err = store.Must[runs.Dataset](ctx, b, u.Dataset.Key)
		}
		c.Updates, c.Pairs = append(c.Updates, u), append(c.Pairs, set.Count)
	}
	r.Epochs = append(r.Epochs, c)

	return err == nil, err
}

// readResults reads the results of all evaluated items.
func (r *Records) readResults(ctx context.Context, b store.Bucket) error {
	keys, err := r.Run.Keys(ctx, b, "evals/")
	if err != nil {
		return err
	}
	for _, key := range keys {
		item, ok := strings.CutSuffix(strings.TrimPrefix(key, r.Run.EvalPrefix()), "/result.json")
		if !ok {
			continue
		}
		result, _, err := r.Run.Result(item).Must(ctx, b)
		if err != nil {
			return err
		}
		folder, rest, _ := strings.Cut(item, "/")
		epoch, _ := rules.EpochOf(folder)
		result.System, result.Split, _ = strings.Cut(rest, "/")
		r.Results = append(r.Results, Evaluated{Folder: folder, Epoch: epoch, Result: result})
	}

	return nil
}

// Figure is a quantity that a run has values of.
type Figure struct {
	Name  string // such as val_success
	About string
}

// NoAgent is the agent of values that belong to all agents together.
const NoAgent = -1

// Point is a value of a figure.
type Point struct {
	Figure
	Epoch  int
	Step   int    // the epoch, or the optimiser step, counted over all epochs of an agent
	Agent  int    // or NoAgent
	System string // of a result
	Split  string // of a result
	Value  float64
}

// Tag names the curve that the point is on: a figure, or that of an agent.
func (p Point) Tag() string {
	if p.Agent == NoAgent {
		return p.Name
	}

	return fmt.Sprintf("agent_%d/%s", p.Agent, p.Name)
}

// Figures of epochs.
var (
	valSuccess     = Figure{"val_success", "success rate on val, from 0 to 1; epoch 0 is the base policy"}
	rolloutSuccess = Figure{"rollout_success", "success rate of the rollouts on training tasks, from 0 to 1"}
	pairs          = Figure{"pairs", "preference pairs"}
	failedSlots    = Figure{"failed_slots", "slots without an episode"}
)

// training are the figures by optimiser step: means over its batch.
var training = []Figure{
	{"train_loss", "loss of an optimiser step"},
	{"train_margin", "margin of an optimiser step"},
	{"train_accuracy", "share of the pairs of an optimiser step whose margin is above 0"},
}

// base returns the result of the base policy on val, that every curve of val begins with.
func (r Records) base() (Evaluated, bool) {
	i := slices.IndexFunc(r.Results, func(e Evaluated) bool {
		return e.Folder == rules.EpochFolder(0) && e.System == rules.ValName(r.Spec, 0) && e.Split == domain.SplitVal
	})
	if i < 0 {
		return Evaluated{}, false
	}

	return r.Results[i], true
}

// Curves returns the values of all curves of the run, epoch by epoch. An epoch's values never change.
func (r Records) Curves() []Point {
	var out []Point
	if base, ok := r.base(); ok {
		out = append(out, Point{Figure: valSuccess, Agent: NoAgent, Value: base.Rate})
	}
	steps := map[int]int{} // optimiser steps of the epochs before, by agent
	for _, c := range r.Epochs {
		add := func(f Figure, v float64) {
			out = append(out, Point{Figure: f, Epoch: c.Number, Step: c.Number, Agent: NoAgent, Value: v})
		}
		if c.Val != nil {
			add(valSuccess, c.Val.Rate)
		}
		add(rolloutSuccess, c.Rollouts.Rate)
		add(pairs, float64(c.Epoch.Pairs))
		add(failedSlots, float64(c.FailedAll))
		for i, u := range c.Updates {
			out = append(out, updated(c, i)...)
			for _, p := range u.Curve {
				at := Point{Epoch: c.Number, Step: steps[u.Agent] + p.Step, Agent: u.Agent}
				for i, v := range []float64{p.Loss, p.Margin, p.Accuracy} {
					at.Figure, at.Value = training[i], v
					out = append(out, at)
				}
			}
			steps[u.Agent] += u.Steps
		}
	}

	return out
}

// updated returns the values of an agent's update.
func updated(c Committed, i int) []Point {
	u := c.Updates[i]
	var out []Point
	add := func(name, about string, v float64) {
		out = append(out, Point{
			Figure: Figure{name, about}, Epoch: c.Number, Step: c.Number, Agent: u.Agent, Value: v,
		})
	}
	kept := 0.0
	if u.Kept != "" {
		kept = 1
	}
	add(pairs.Name, pairs.About, float64(c.Pairs[i]))
	add("optimiser_steps", "optimiser steps of the update", float64(u.Steps))
	add("kept_parent", "1 if the parent policy was kept", kept)
	if p := u.Probe; p.Prompts > 0 {
		add("parse_rate", "share of sampled answers that parse", p.ParseRate)
		if p.Unknown == "" {
			add("kl", "divergence from the parent policy, nats per answer", p.KL)
			add("kl_base", "divergence from the base policy, nats per answer", p.KLBase)
			add("entropy", "entropy of the policy, nats per answer", p.Entropy)
			add("margin", "change of the log-probability of chosen less that of rejected answers, nats",
				p.Chosen.Change()-p.Rejected.Change())
			add("displaced", "change of the probability that lies on neither answer of a pair", p.Displaced)
		}
	}

	return out
}
