package view

import (
	"context"
	"fmt"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
)

// Episode is a played slot with everything that was made from it.
type Episode struct {
	Run      string           `json:"run"`
	Epoch    int              `json:"epoch"`
	Episode  runs.Episode     `json:"episode"`
	Topology domain.Topology  `json:"topology"`
	Rounds   int              `json:"rounds"`
	Scope    agents.VoteScope `json:"vote_scope,omitempty"` // which answers vote
	Steps    []runs.Step      `json:"steps"`
	Credits  *runs.Credits    `json:"credits,omitempty"` // nil if not graded yet
	Pairs    *runs.Pairs      `json:"pairs,omitempty"`   // nil if not paired yet
	Void     []string         `json:"void,omitempty"`    // why earlier attempts do not count
	Open     bool             `json:"open,omitempty"`    // the attempt has not ended

	spec spec.Spec // of the epoch
}

// ReadsBack reports whether agents also read those that they are read by: their answers of the previous round.
func (e Episode) ReadsBack() bool { return e.spec.Reads == agents.ReadBack && e.Rounds > 1 }

// Label returns the label of a cell of a step, both counted from 0, and reports whether there is one.
func (e Episode) Label(step, cell int) (domain.Label, bool) {
	if e.Credits == nil || step >= len(e.Credits.Steps) || cell >= len(e.Credits.Steps[step].Labels) {
		return 0, false
	}

	return e.Credits.Steps[step].Labels[cell], true
}

// Vote returns the deciding vote of a step, counted from 0, and the number of answers that had a vote.
func (e Episode) Vote(step int) (vote domain.Vote, voters int) {
	decision := e.Steps[step].Decision
	for _, cell := range decision.Cells {
		if cell.Votes() && (e.Scope != agents.ScopeLast || cell.Round == e.Rounds-1) {
			voters++
		}
	}

	return e.Scope.Winner(decision), voters
}

// PairsOf returns the pairs of a step, by its number.
func (e Episode) PairsOf(number int) (out []domain.Example) {
	if e.Pairs == nil {
		return nil
	}
	for _, pair := range e.Pairs.Pairs {
		if pair.Step == number {
			out = append(out, pair)
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
func newEpoch(ctx context.Context, bucket store.Bucket, run runs.Run, number int) (epoch, error) {
	r := epoch{b: bucket, run: run, number: number}
	specification, err := run.Find(ctx, bucket)
	if err != nil {
		return r, err
	}
	if then, err := run.At(ctx, bucket, number); err == nil {
		specification = then
	}
	r.spec = specification
	r.rounds = specification.Rounds
	if specification.Agents == 1 {
		r.rounds = 1
	}
	topology, begun, err := run.Topology(number).May(ctx, bucket)
	if err == nil && !begun {
		err = fmt.Errorf("run %s has not begun epoch %d: %w", run, number, store.ErrNotFound)
	}
	r.topology = topology

	return r, err
}

// ReadEpisode reads the episode of a slot. The error wraps store.ErrNotFound if it has not begun.
func ReadEpisode(ctx context.Context, bucket store.Bucket, run runs.Run, number, slot int) (Episode, error) {
	r, err := newEpoch(ctx, bucket, run, number)
	if err != nil {
		return Episode{}, err
	}
	episode, begun, err := r.read(ctx, slot)
	if err == nil && !begun {
		err = r.notBegun(slot)
	}

	return episode, err
}

// MayEpisode is ReadEpisode for a slot that may not have begun.
func MayEpisode(ctx context.Context, bucket store.Bucket, run runs.Run, number, slot int) (Episode, bool, error) {
	r, err := newEpoch(ctx, bucket, run, number)
	if err != nil {
		return Episode{}, false, err
	}

	return r.read(ctx, slot)
}

// notBegun reports that a slot has no episode.
func (r epoch) notBegun(slot int) error {
	return fmt.Errorf("slot %d of epoch %d of run %s has no episode yet: %w", slot, r.number, r.run, store.ErrNotFound)
}

// read reads the episode of a slot, if it has begun.
func (r epoch) read(ctx context.Context, slot int) (Episode, bool, error) {
	out := Episode{
		Run: string(r.run), Epoch: r.number, Rounds: r.rounds, Scope: r.spec.VoteScope, Topology: r.topology,
		spec: r.spec,
	}
	end, ended, err := r.run.MayEpisode(ctx, r.b, r.number, slot)
	if err != nil {
		return out, false, err
	}
	if !ended {
		return r.readOpen(ctx, out, slot)
	}
	out.Episode = end

	return out, true, r.readEnded(ctx, &out, slot)
}

// readEnded reads the records of an episode that has ended.
func (r epoch) readEnded(ctx context.Context, out *Episode, slot int) (err error) {
	end := out.Episode
	if end.Attempt > 1 {
		if out.Void, err = r.before(ctx, slot, end.Attempt); err != nil {
			return err
		}
	}
	if out.Steps, err = end.ReadSteps(ctx, r.b); err != nil {
		return err
	}
	if end.Failed != "" {
		return nil
	}
	credits, labelled, err := r.run.Credits(r.number, slot).May(ctx, r.b)
	if err != nil {
		return err
	}
	if labelled {
		out.Credits = &credits
	}
	pairs, paired, err := r.run.Pairs(r.number, slot).May(ctx, r.b)
	if paired {
		out.Pairs = &pairs
	}

	return err
}

// before returns the reasons why the attempts at a slot before the given one do not count.
func (r epoch) before(ctx context.Context, slot, attempt int) (why []string, err error) {
	all, err := r.run.Attempts(ctx, r.b, r.number, slot)
	for _, episode := range all {
		if episode.Attempt < attempt {
			why = append(why, episode.Void+episode.Failed)
		}
	}

	return why, err
}

// readOpen reads an attempt that has not ended.
func (r epoch) readOpen(ctx context.Context, out Episode, slot int) (Episode, bool, error) {
	attempt := 0
	for {
		start, begun, err := r.run.Start(r.number, slot, attempt+1).May(ctx, r.b)
		if err != nil {
			return out, false, err
		}
		if !begun {
			break
		}
		attempt++
		out.Episode.Slot = start.Slot
		out.Episode.Attempt = attempt
		out.Open = true
	}
	if attempt == 0 {
		return out, false, nil
	}

	if attempt > 1 {
		var err error
		if out.Void, err = r.before(ctx, slot, attempt); err != nil {
			return out, true, err
		}
	}
	for {
		step, exists, err := r.run.Step(r.number, slot, attempt, len(out.Steps)+1).May(ctx, r.b)
		if err != nil || !exists {
			return out, true, err
		}
		out.Steps = append(out.Steps, step)
		out.Episode.Goal = step.Goal
	}
}
