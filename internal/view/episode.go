package view

import (
	"context"
	"errors"
	"fmt"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/store/runs"
)

// Episode is a played slot with everything that was made of it.
type Episode struct {
	Run      string           `json:"run"`
	Epoch    int              `json:"epoch"`
	Episode  runs.Episode     `json:"episode"`
	Topology domain.Topology  `json:"topology"`
	Rounds   int              `json:"rounds"`
	Scope    agents.VoteScope `json:"vote_scope,omitempty"` // which answers vote
	Steps    []runs.Step      `json:"steps"`
	Credits  *runs.Credits    `json:"credits,omitempty"` // nil: not graded yet
	Pairs    *runs.Pairs      `json:"pairs,omitempty"`   // nil: not paired yet
	Void     []string         `json:"void,omitempty"`    // why attempts before do not count
	Open     bool             `json:"open,omitempty"`    // the attempt has not ended

	spec spec.Spec // of the epoch
}

// Label returns the label of a cell of a step, both from 0, and reports whether there is one.
func (e Episode) Label(step, cell int) (domain.Label, bool) {
	if e.Credits == nil || step >= len(e.Credits.Steps) || cell >= len(e.Credits.Steps[step].Labels) {
		return 0, false
	}

	return e.Credits.Steps[step].Labels[cell], true
}

// Vote returns the vote that decided a step, from 0, and the number of answers that had a vote.
func (e Episode) Vote(step int) (v domain.Vote, voters int) {
	d := e.Steps[step].Decision
	for _, c := range d.Cells {
		if c.Action != nil && (e.Scope != agents.ScopeLast || c.Round == e.Rounds-1) {
			voters++
		}
	}

	return e.Scope.Winner(d), voters
}

// PairsOf returns the pairs of a step, by its number.
func (e Episode) PairsOf(number int) (out []domain.Pair) {
	if e.Pairs == nil {
		return nil
	}
	for _, p := range e.Pairs.Pairs {
		if p.Step == number {
			out = append(out, p)
		}
	}

	return out
}

// epoch reads the episodes of an epoch.
type epoch struct {
	b        store.Bucket
	run      runs.Run
	number   int
	spec     spec.Spec
	rounds   int
	topology domain.Topology
}

// newEpoch returns a reader of an epoch. The error wraps store.ErrNotFound if the epoch has not begun.
func newEpoch(ctx context.Context, b store.Bucket, run runs.Run, number int) (epoch, error) {
	r := epoch{b: b, run: run, number: number}
	s, err := run.Find(ctx, b)
	if err != nil {
		return r, err
	}
	if then, err := run.At(ctx, b, number); err == nil {
		s = then
	}
	r.spec = s
	if r.rounds = s.Rounds; s.Agents == 1 {
		r.rounds = 1
	}
	r.topology, _, err = run.Topology(number).Read(ctx, b)

	return r, err
}

// ReadEpisode reads the episode of a slot. The error wraps store.ErrNotFound if it has not begun.
func ReadEpisode(ctx context.Context, b store.Bucket, run runs.Run, number, slot int) (Episode, error) {
	r, err := newEpoch(ctx, b, run, number)
	if err != nil {
		return Episode{}, err
	}

	return r.read(ctx, slot)
}

func (r epoch) read(ctx context.Context, slot int) (Episode, error) {
	out := Episode{
		Run: string(r.run), Epoch: r.number, Rounds: r.rounds, Scope: r.spec.VoteScope, Topology: r.topology,
		spec: r.spec,
	}
	end, _, err := r.run.Episode(ctx, r.b, r.number, slot)
	if errors.Is(err, store.ErrNotFound) {
		return r.readOpen(ctx, out, slot)
	}
	if err != nil {
		return out, err
	}
	out.Episode = end
	if end.Attempt > 1 {
		if out.Void, err = r.before(ctx, slot, end.Attempt); err != nil {
			return out, err
		}
	}
	if out.Steps, err = out.Episode.ReadSteps(ctx, r.b); err != nil {
		return out, err
	}
	if end.Failed != "" {
		return out, nil
	}
	if out.Credits, err = store.Optional(r.run.Credits(r.number, slot).Read(ctx, r.b)); err != nil {
		return out, err
	}
	out.Pairs, err = store.Optional(r.run.Pairs(r.number, slot).Read(ctx, r.b))

	return out, err
}

// before says why the attempts at a slot before one do not count.
func (r epoch) before(ctx context.Context, slot, attempt int) (why []string, err error) {
	all, err := r.run.Attempts(ctx, r.b, r.number, slot)
	for _, e := range all {
		if e.Attempt < attempt {
			why = append(why, e.Void+e.Failed)
		}
	}

	return why, err
}

// readOpen reads an attempt that has not ended.
func (r epoch) readOpen(ctx context.Context, out Episode, slot int) (Episode, error) {
	attempt := 0
	for {
		s, _, err := r.run.Start(r.number, slot, attempt+1).Read(ctx, r.b)
		if errors.Is(err, store.ErrNotFound) {
			break
		}
		if err != nil {
			return out, err
		}
		attempt++
		out.Episode.Slot, out.Episode.Attempt, out.Open = s.Slot, attempt, true
	}
	if attempt == 0 {
		return out, fmt.Errorf("slot %d of epoch %d of run %s has no episode yet: %w", slot, r.number, r.run,
			store.ErrNotFound)
	}

	if attempt > 1 {
		var err error
		if out.Void, err = r.before(ctx, slot, attempt); err != nil {
			return out, err
		}
	}
	for {
		step, _, err := r.run.Step(r.number, slot, attempt, len(out.Steps)+1).Read(ctx, r.b)
		if errors.Is(err, store.ErrNotFound) {
			return out, nil
		}
		if err != nil {
			return out, err
		}
		out.Steps, out.Episode.Goal = append(out.Steps, step), step.Goal
	}
}
