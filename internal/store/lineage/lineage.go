// Package lineage follows a system back to its base: epochs, forks, stage 1 and the policies that it began with.
package lineage

import (
	"context"
	"fmt"
	"slices"

	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/store/lines"
	"github.com/collabui/collabui/internal/store/runs"
)

// Kind says what a step of a lineage is.
type Kind string

// Kinds of steps.
const (
	KindEpoch    Kind = "epoch"
	KindFork     Kind = "fork"
	KindStage1   Kind = "stage 1"
	KindImported Kind = "imported" // a base policy that no run of the store made
)

// Step is one step of a lineage. Fields that say nothing about its kind are empty.
type Step struct {
	Kind  Kind   `json:"kind"`
	Run   string `json:"run"`
	Epoch int    `json:"epoch,omitempty"`

	Environment string `json:"environment,omitempty"` // with the version of its data, where it states one
	Critic      string `json:"critic,omitempty"`
	Seed        uint64 `json:"seed,omitempty"`
	Pairs       int    `json:"pairs,omitempty"`
	Val         string `json:"val,omitempty"` // success rate
	Kept        string `json:"kept,omitempty"`
	Digest      string `json:"digest,omitempty"`

	runs.Made `json:"made,omitzero"` // of epochs and stage 1: prompts, kernel and browser

	Datasets []store.Ref  `json:"datasets,omitempty"` // by agent, or by level
	Policies []string     `json:"policies,omitempty"` // that the step made
	Origin   *runs.Origin `json:"origin,omitempty"`   // of forks
	Text     string       `json:"text"`               // the step for people
}

// Of returns the lineage of a system, newest step first. The error wraps store.ErrNotFound if there is no such run.
func Of(ctx context.Context, b store.Bucket, s lines.System, catalog spec.Catalog) ([]Step, error) {
	f := follower{ctx: ctx, b: b, catalog: catalog}
	if _, err := runs.Run(s.Run).Find(ctx, b); err != nil {
		return nil, err
	}
	err := f.follow(s.Run, s.Epoch)

	return f.steps, err
}

// follower collects the steps of a lineage.
type follower struct {
	ctx     context.Context
	b       store.Bucket
	catalog spec.Catalog
	steps   []Step
}

// follow adds what led to an epoch of a run.
func (f *follower) follow(name string, epoch int) error {
	run := runs.Run(name)
	origin, forked, err := run.Origin().Sure(f.ctx, f.b)
	if err != nil {
		return err
	}
	for ; epoch > 0; epoch-- {
		if forked && epoch <= origin.Epoch {
			return f.fork(name, origin, epoch)
		}
		if err := f.epoch(run, epoch); err != nil {
			return err
		}
	}
	if forked {
		return f.fork(name, origin, 0)
	}

	return f.stage1(run)
}

// fork adds where a fork comes from, and goes on with its original.
func (f *follower) fork(name string, o runs.Origin, epoch int) error {
	text := fmt.Sprintf("%s is a fork of %s after epoch %d, by %s", name, o.Run, o.Epoch, o.Who)
	for _, key := range o.Values.Keys() {
		text += fmt.Sprintf("; %s=%s", key, o.Values[key])
	}
	if o.Why != "" {
		text += ": " + o.Why
	}
	f.steps = append(f.steps, Step{Kind: KindFork, Run: name, Origin: &o, Text: text})

	return f.follow(o.Run, epoch)
}

// epoch adds an epoch of a run.
func (f *follower) epoch(run runs.Run, epoch int) error {
	e, _, err := run.Epoch(epoch).Must(f.ctx, f.b)
	if err != nil {
		return err
	}
	s, err := run.At(f.ctx, f.b, epoch)
	if err != nil {
		return err
	}
	x := Step{
		Kind: KindEpoch, Run: string(run), Epoch: epoch, Environment: s.Environment,
		Critic: rules.CriticName(s, f.catalog), Seed: s.Seed, Pairs: e.Pairs, Kept: e.Kept, Digest: e.Digest,
		Policies: e.System.Digests(),
	}
	if e.Val != nil {
		x.Val = fmt.Sprintf("%.1f %%", 100*e.Val.Rate)
	}
	if x.Made, _, err = run.Made(epoch).Must(f.ctx, f.b); err != nil {
		return err
	}
	for _, ref := range e.Updates {
		u, _, err := store.Must[runs.Update](f.ctx, f.b, ref.Key)
		if err != nil {
			return err
		}
		x.Datasets = append(x.Datasets, u.Dataset)
	}

	x.Text = fmt.Sprintf("epoch %d of %s on %s, %d pairs, critic %s", epoch, run, s.Environment, e.Pairs, x.Critic)
	if x.Val != "" {
		x.Text += ", val " + x.Val
	}
	if e.Kept != "" {
		x.Text += "; its system was not taken: " + e.Kept
	}
	f.steps = append(f.steps, x)

	return nil
}

// stage1 adds the stage 1 of a run, and goes on with the policy that it began with.
func (f *follower) stage1(run runs.Run) error {
	s, err := run.Find(f.ctx, f.b)
	if err != nil {
		return err
	}
	base, _, err := run.Base().Must(f.ctx, f.b)
	if err != nil {
		return err
	}
	levels, err := run.Levels(f.ctx, f.b)
	if err != nil {
		return err
	}
	x := Step{
		Kind: KindStage1, Run: string(run), Environment: s.Environment, Seed: s.Seed,
		Policies: []string{base.Policy.Digest},
	}
	if x.Made, _, err = run.Made(0).Must(f.ctx, f.b); err != nil {
		return err
	}
	x.Text = fmt.Sprintf("stage 1 of %s on %s", run, s.Environment)
	for _, l := range levels {
		x.Datasets = append(x.Datasets, l.Body)
		x.Text += fmt.Sprintf(", level %d: %d rows", l.Card.Level, l.Card.Rows)
	}
	if len(levels) == 0 && s.FineTune.Base == "" {
		x.Text += fmt.Sprintf(", %d demonstrations", s.FineTune.Demonstrations)
	}
	f.steps = append(f.steps, x)
	if !isDigest(s.FineTune.Base) {
		return nil
	}

	return f.base(run, s.FineTune.Base)
}

func isDigest(text string) bool { return len(text) == 64 }

// base adds where the policy comes from that a run began with: the epoch of another run that made it, or the outside.
func (f *follower) base(of runs.Run, policy string) error {
	names, err := runs.Names(f.ctx, f.b)
	if err != nil {
		return err
	}
	for _, name := range names {
		epoch, err := f.maker(runs.Run(name), policy)
		if err != nil {
			return err
		}
		if epoch >= 0 && name != string(of) {
			return f.follow(name, epoch)
		}
	}
	f.steps = append(f.steps, Step{
		Kind: KindImported, Run: string(of), Policies: []string{policy}, Text: "policy " + policy + " was imported",
	})

	return nil
}

// maker returns the first epoch of a run whose system has a policy, 0 for stage 1, or −1 if the run did not make it.
func (f *follower) maker(run runs.Run, policy string) (int, error) {
	s, err := run.Find(f.ctx, f.b)
	if err != nil || s.FineTune.Base == policy {
		return -1, err
	}
	_, based, err := run.Base().Sure(f.ctx, f.b)
	if err != nil || !based { // its stage 1 has not ended
		return -1, err
	}
	committed, err := run.Committed(f.ctx, f.b)
	for epoch := 0; epoch <= committed && err == nil; epoch++ {
		var system runs.System
		system, err = run.System(f.ctx, f.b, epoch, s.Agents)
		if err == nil && slices.Contains(system.Digests(), policy) {
			return epoch, nil
		}
	}

	return -1, err
}
