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
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
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

// SystemRef is a system of a line: the product of an epoch of a run, with its policies by agent.
type SystemRef struct {
	Run      string        `json:"run"`
	Epoch    int           `json:"epoch"`  // 0 is the base policy
	Commit   store.Ref     `json:"commit"` // of the epoch, or of the base policy
	Policies []runs.Policy `json:"policies"`
}

// String returns RUN@EPOCH.
func (s SystemRef) String() string { return fmt.Sprintf("%s@%d", s.Run, s.Epoch) }

// Digests returns the digests of the policies, by agent.
func (s SystemRef) Digests() []string { return runs.System{Policies: s.Policies}.Digests() }

// Entry is one entry of a line.
type Entry struct {
	Number int       `json:"number"` // from 1
	Verb   Verb      `json:"verb"`
	System SystemRef `json:"system"`          // accepted, or rejected
	Again  int       `json:"again,omitempty"` // the entry that a rollback goes back to
	Who    string    `json:"who"`
	Why    string    `json:"why"`
	At     time.Time `json:"at"`

	// Results are the known results of the system, and Evidence is the end of the run that has them.
	Results  []runs.Result `json:"results,omitempty"`
	Evidence *store.Ref    `json:"evidence,omitempty"`

	Basis *Basis     `json:"basis,omitempty"` // of a decision by a schedule
	Gate  *store.Ref `json:"gate,omitempty"`  // the finding of the schedule's gate
}

// Basis is the basis of a schedule's decision: the accepted system, and the tasks that its environment offers. The
// schedule decides once on each basis.
type Basis struct {
	Accepted  string    `json:"accepted"`  // RUN@EPOCH
	Inventory store.Ref `json:"inventory"` // a blob
	Schedule  string    `json:"schedule"`
	Firing    string    `json:"firing"`
}

// Same reports whether two decisions have the same basis.
func (b Basis) Same(basis Basis) bool {
	return b.Accepted == basis.Accepted && b.Inventory.Same(basis.Inventory)
}

// prefix is the folder of all lines.
const prefix = "lines/"

// Entry returns entry n of the line.
func (l Line) Entry(n int) runs.Object[Entry] {
	return runs.Object[Entry]{Key: fmt.Sprintf("%s%s/%04d.json", prefix, l, n)}
}

// Keys returns the keys of the entries of all lines.
func Keys(ctx context.Context, bucket store.Bucket) ([]string, error) {
	return store.Keys(ctx, bucket, prefix)
}

// Names returns the names of all lines, in lexical order.
func Names(ctx context.Context, bucket store.Bucket) ([]string, error) {
	return bucket.Folders(ctx, prefix)
}

// History returns the entries of the line after the first n, in order.
func (l Line) History(ctx context.Context, bucket store.Bucket, n int) ([]Entry, error) {
	return runs.Log[Entry](l.Entry).After(ctx, bucket, n, 0)
}

// Current returns the newest entry that accepts a system. The error wraps store.ErrNotFound if no entry does.
func (l Line) Current(ctx context.Context, bucket store.Bucket) (Entry, error) {
	entry, _, accepts, err := l.Standing(ctx, bucket)
	if err == nil && !accepts {
		err = none(l)
	}

	return entry, err
}

// Standing returns the newest entry that accepts a system and, in order, the entries after it, which reject systems. It
// reports false if the line accepts no system.
func (l Line) Standing(ctx context.Context, bucket store.Bucket) (now Entry, later []Entry, accepts bool, err error) {
	last, err := runs.Log[Entry](l.Entry).End(ctx, bucket, 0)
	if err != nil {
		return now, nil, false, err
	}
	for n := last; n > 0; n-- {
		entry, _, err := l.Entry(n).Must(ctx, bucket)
		if err != nil {
			return now, nil, false, err
		}
		if entry.Verb != Reject {
			slices.Reverse(later)

			return entry, later, true, nil
		}
		later = append(later, entry)
	}

	return now, nil, false, nil
}

// none returns the error of a line that accepts no system.
func none(line Line) error { return fmt.Errorf("line %q: %w", string(line), store.ErrNotFound) }

// Append records the entry that follows the given number of entries. It returns an invalid fault if someone else has
// written that entry meanwhile: the line has changed since the decision. It may be repeated with the same entry.
func (l Line) Append(ctx context.Context, bucket store.Bucket, after int, entry Entry) (Entry, error) {
	if !spec.IsName(string(l)) {
		return entry, fault.New(fault.Invalid,
			"expected a name of 1 to 40 lower-case letters, digits and dashes, not %q", l)
	}
	entry.Number = after + 1
	if after > 0 {
		if _, _, err := l.Entry(after).Must(ctx, bucket); err != nil {
			return entry, err
		}
	}
	if entry.Verb != Reject {
		promotion := runs.Promotion{Line: string(l), Entry: entry.Number}
		if err := runs.Run(entry.System.Run).Promote(ctx, bucket, promotion); err != nil {
			return entry, err
		}
	}
	got, _, err := l.Entry(entry.Number).Record(ctx, bucket, func() (Entry, error) { return entry, nil })
	if err == nil && runs.Digest(got) != runs.Digest(entry) {
		err = fault.New(fault.Invalid,
			"%s has changed line %s meanwhile: %s of %s, because %s; look at it and decide again",
			got.Who, l, got.Verb, got.System, got.Why)
	}

	return got, err
}

// Back returns the entry that makes the line return to an accepted system: the system of entry number to or, if to is
// 0, of the one before the current entry. It returns an invalid fault if there is no such system.
func (l Line) Back(ctx context.Context, bucket store.Bucket, to int) (entry Entry, after int, err error) {
	all, err := l.History(ctx, bucket, 0)
	if err != nil {
		return entry, 0, err
	}
	now, _, accepts, err := l.Standing(ctx, bucket)
	if err != nil {
		return entry, 0, err
	}
	if !accepts {
		return entry, 0, none(l)
	}
	for _, old := range slices.Backward(all) {
		accepted := old.Verb != Reject
		if accepted && (old.Number == to || to == 0 && runs.Digest(old.System) != runs.Digest(now.System)) {
			old.Verb = Rollback
			old.Again = old.Number

			return old, len(all), nil
		}
	}

	return entry, 0, fault.New(fault.Invalid,
		"line %s has no such accepted system to go back to: see `collabui line show %s`",
		l, fault.ShellQuote(string(l)))
}

// Find returns a system of a run in the form that a line accepts: the system of an epoch or, if epoch is −1, the best
// on val of a run that has ended and otherwise the newest. It returns an invalid fault if the run has no such epoch.
func Find(ctx context.Context, bucket store.Bucket, run string, epoch int) (SystemRef, error) {
	systemRef := SystemRef{Run: run, Epoch: epoch}
	r := runs.Run(run)
	specification, err := r.Current(ctx, bucket)
	if err != nil {
		return systemRef, err
	}
	if epoch < 0 {
		if systemRef.Epoch, err = r.Chosen(ctx, bucket); err != nil {
			return systemRef, err
		}
	}

	committed := false
	if systemRef.Epoch == 0 {
		if _, committed, err = r.Base().Sure(ctx, bucket); committed {
			_, systemRef.Commit, err = r.Base().Must(ctx, bucket)
		}
	} else {
		if _, committed, err = r.Epoch(systemRef.Epoch).Sure(ctx, bucket); committed {
			_, systemRef.Commit, err = r.Epoch(systemRef.Epoch).Must(ctx, bucket)
		}
	}
	if err != nil {
		return systemRef, err
	}
	if !committed {
		return systemRef, fault.New(fault.Invalid, "run %s has not committed epoch %d", run, systemRef.Epoch)
	}
	system, err := r.Standing(ctx, bucket, systemRef.Epoch, specification.Agents)
	systemRef.Policies = system.Policies

	return systemRef, err
}

// Measured adds to an entry the results that its run measured for the system at its end, if any.
func (e *Entry) Measured(ctx context.Context, bucket store.Bucket) error {
	specification, err := runs.Run(e.System.Run).Current(ctx, bucket)
	if err != nil {
		return err
	}
	end, ended, err := runs.Run(e.System.Run).End().Sure(ctx, bucket)
	if err != nil || !ended || end.Best != e.System.Epoch {
		return err
	}
	_, ref, err := runs.Run(e.System.Run).End().Must(ctx, bucket)
	for _, result := range end.Results {
		if result.System == rules.ValName(specification, e.System.Epoch) {
			e.Results = append(e.Results, result)
		}
	}
	e.Evidence = &ref

	return err
}
