// Package lines keeps lines: successions of accepted systems. A line is a log of numbered entries, each written once,
// so a process that writes the next number has seen all entries before it. The newest entry that accepts a system
// determines the line's system: readers see exactly one at any moment.
package lines

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/store/runs"
)

// Line is a line, identified by its name.
type Line string

// Verb is the kind of an entry.
type Verb string

// The verbs.
const (
	Promote  Verb = "promote"  // accepts a system
	Rollback Verb = "rollback" // accepts a system again that was accepted before
	Reject   Verb = "reject"   // keeps the accepted system
)

// System is a system of a line: the product of an epoch of a run, with its policies by agent.
type System struct {
	Run      string        `json:"run"`
	Epoch    int           `json:"epoch"`  // 0 is the base policy
	Commit   store.Ref     `json:"commit"` // of the epoch, or of the base policy
	Policies []runs.Policy `json:"policies"`
}

// String returns RUN@EPOCH.
func (s System) String() string { return fmt.Sprintf("%s@%d", s.Run, s.Epoch) }

// Digests returns the digests of the policies, by agent.
func (s System) Digests() []string { return runs.System{Policies: s.Policies}.Digests() }

// Entry is one entry of a line.
type Entry struct {
	Number int       `json:"number"` // from 1
	Verb   Verb      `json:"verb"`
	System System    `json:"system"`          // accepted, or rejected
	Again  int       `json:"again,omitempty"` // the entry that a rollback goes back to
	Who    string    `json:"who"`
	Why    string    `json:"why"`
	At     time.Time `json:"at"`

	// Results are what was known about the system, and Evidence is the end of the run that has them.
	Results  []runs.Result `json:"results,omitempty"`
	Evidence *store.Ref    `json:"evidence,omitempty"`

	Basis *Basis     `json:"basis,omitempty"` // of a decision by a schedule
	Gate  *store.Ref `json:"gate,omitempty"`  // what the schedule's gate found
}

// Basis is what a schedule decides upon: the accepted system, and what its environment offers. The schedule decides
// once on each basis.
type Basis struct {
	Accepted  string    `json:"accepted"`  // RUN@EPOCH
	Inventory store.Ref `json:"inventory"` // a blob
	Schedule  string    `json:"schedule"`
	Firing    string    `json:"firing"`
}

// Same reports whether two decisions have the same basis.
func (b Basis) Same(o Basis) bool { return b.Accepted == o.Accepted && b.Inventory.Same(o.Inventory) }

// prefix is the folder of all lines.
const prefix = "lines/"

// Entry returns entry n of the line.
func (l Line) Entry(n int) runs.Object[Entry] {
	return runs.Object[Entry]{Key: fmt.Sprintf("%s%s/%04d.json", prefix, l, n)}
}

// Keys returns the keys of the entries of all lines.
func Keys(ctx context.Context, b store.Bucket) ([]string, error) { return store.Keys(ctx, b, prefix) }

// Names returns the names of all lines, in lexical order.
func Names(ctx context.Context, b store.Bucket) ([]string, error) {
	return b.Folders(ctx, prefix)
}

// History returns the entries of the line after the first n, in order.
func (l Line) History(ctx context.Context, b store.Bucket, n int) ([]Entry, error) {
	return runs.Log[Entry](l.Entry).After(ctx, b, n, 0)
}

// Current returns the newest entry that accepts a system. The error wraps store.ErrNotFound if no entry does.
func (l Line) Current(ctx context.Context, b store.Bucket) (Entry, error) {
	e, _, accepts, err := l.Standing(ctx, b)
	if err == nil && !accepts {
		err = none(l)
	}

	return e, err
}

// Standing returns the newest entry that accepts a system and, in order, the entries after it, which reject systems. It
// reports false if the line accepts no system.
func (l Line) Standing(ctx context.Context, b store.Bucket) (now Entry, later []Entry, accepts bool, err error) {
	last, err := runs.Log[Entry](l.Entry).End(ctx, b, 0)
	if err != nil {
		return now, nil, false, err
	}
	for n := last; n > 0; n-- {
		e, _, err := l.Entry(n).Must(ctx, b)
		if err != nil {
			return now, nil, false, err
		}
		if e.Verb != Reject {
			slices.Reverse(later)

			return e, later, true, nil
		}
		later = append(later, e)
	}

	return now, nil, false, nil
}

// none returns the error of a line that accepts no system.
func none(l Line) error { return fmt.Errorf("line %q: %w", string(l), store.ErrNotFound) }

// Append records the entry that follows the given number of entries. It returns an invalid fault if someone else has
// written that entry meanwhile: the line has changed since the decision. It may be repeated with the same entry.
func (l Line) Append(ctx context.Context, b store.Bucket, after int, e Entry) (Entry, error) {
	if !spec.IsName(string(l)) {
		return e, fault.New(fault.Invalid,
			"expected a name of 1 to 40 lower-case letters, digits and dashes, not %q", l)
	}
	e.Number = after + 1
	if after > 0 {
		if _, _, err := l.Entry(after).Must(ctx, b); err != nil {
			return e, err
		}
	}
	if e.Verb != Reject {
		p := runs.Promotion{Line: string(l), Entry: e.Number}
		if err := runs.Run(e.System.Run).Promote(ctx, b, p); err != nil {
			return e, err
		}
	}
	got, _, err := l.Entry(e.Number).Record(ctx, b, func() (Entry, error) { return e, nil })
	if err == nil && runs.Digest(got) != runs.Digest(e) {
		err = fault.New(fault.Invalid,
			"%s has changed line %s meanwhile: %s of %s, because %s; look at it and decide again",
			got.Who, l, got.Verb, got.System, got.Why)
	}

	return got, err
}

// Back returns the entry that makes the line return to an accepted system: the system of entry number to or, if to is
// 0, of the one before the current entry. It returns an invalid fault if there is no such system.
func (l Line) Back(ctx context.Context, b store.Bucket, to int) (e Entry, after int, err error) {
	all, err := l.History(ctx, b, 0)
	if err != nil {
		return e, 0, err
	}
	now, _, accepts, err := l.Standing(ctx, b)
	if err != nil {
		return e, 0, err
	}
	if !accepts {
		return e, 0, none(l)
	}
	for _, old := range slices.Backward(all) {
		accepted := old.Verb != Reject
		if accepted && (old.Number == to || to == 0 && runs.Digest(old.System) != runs.Digest(now.System)) {
			old.Verb = Rollback
			old.Again = old.Number

			return old, len(all), nil
		}
	}

	return e, 0, fault.New(fault.Invalid,
		"line %s has no such accepted system to go back to: see `collabui line show %s`",
		l, fault.ShellQuote(string(l)))
}

// Find returns a system of a run in the form that a line accepts: the system of an epoch or, if epoch is −1, the best
// on val of a run that has ended and otherwise the newest. It returns an invalid fault if the run has no such epoch.
func Find(ctx context.Context, b store.Bucket, run string, epoch int) (System, error) {
	x := System{Run: run, Epoch: epoch}
	r := runs.Run(run)
	s, err := r.Current(ctx, b)
	if err != nil {
		return x, err
	}
	if epoch < 0 {
		if x.Epoch, err = r.Chosen(ctx, b); err != nil {
			return x, err
		}
	}

	committed := false
	if x.Epoch == 0 {
		if _, committed, err = r.Base().Sure(ctx, b); committed {
			_, x.Commit, err = r.Base().Must(ctx, b)
		}
	} else {
		if _, committed, err = r.Epoch(x.Epoch).Sure(ctx, b); committed {
			_, x.Commit, err = r.Epoch(x.Epoch).Must(ctx, b)
		}
	}
	if err != nil {
		return x, err
	}
	if !committed {
		return x, fault.New(fault.Invalid, "run %s has not committed epoch %d", run, x.Epoch)
	}
	system, err := r.Standing(ctx, b, x.Epoch, s.Agents)
	x.Policies = system.Policies

	return x, err
}

// Measured adds to an entry what its run measured about the system at its end, if anything.
func (e *Entry) Measured(ctx context.Context, b store.Bucket) error {
	s, err := runs.Run(e.System.Run).Current(ctx, b)
	if err != nil {
		return err
	}
	end, ended, err := runs.Run(e.System.Run).End().Sure(ctx, b)
	if err != nil || !ended || end.Best != e.System.Epoch {
		return err
	}
	_, ref, err := runs.Run(e.System.Run).End().Must(ctx, b)
	for _, r := range end.Results {
		if r.System == rules.ValName(s, e.System.Epoch) {
			e.Results = append(e.Results, r)
		}
	}
	e.Evidence = &ref

	return err
}
