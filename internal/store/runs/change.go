package runs

import (
	"context"
	"reflect"
	"strings"
	"time"
	"unicode"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/store"
)

// Change is what a person did to a run. Changes are numbered from 1. Every epoch begins with a certain number of them,
// which is recorded, and later changes do not affect it.
type Change struct {
	Who  string    `json:"who"`
	Why  string    `json:"why"`
	At   time.Time `json:"at,omitzero"`
	Verb Verb      `json:"verb,omitempty"`

	// Values are the values that keys of the specification have from then on.
	Values spec.Values `json:"values,omitempty"`
	// Cells are labels that replace the critic's in a fork, in the first epoch that it does not share as a whole.
	Cells []Relabel `json:"cells,omitempty"`
	// Link is the page of the viewer that a note refers to, such as "#/episode/quickstart/2/17".
	Link string `json:"link,omitempty"`
}

// Relabel is another label for one cell of an epoch.
type Relabel struct {
	Slot  int          `json:"slot"`
	Step  int          `json:"step"` // from 1
	Agent int          `json:"agent"`
	Round int          `json:"round"`
	Label domain.Label `json:"label"`
}

// Origin is where a fork comes from: a run, and the last of its epochs that the fork is certain to share.
type Origin struct {
	Run    string      `json:"run"`
	Epoch  int         `json:"epoch"`
	Values spec.Values `json:"values,omitempty"` // values that the fork changes from the next epoch on
	Cells  []Relabel   `json:"cells,omitempty"`  // cells that it relabels in the next epoch
	Who    string      `json:"who"`
	Why    string      `json:"why"`
	At     time.Time   `json:"at"`
}

// Verb is a kind of change.
type Verb string

// The verbs.
const (
	VerbSet    Verb = "set"
	VerbPause  Verb = "pause"
	VerbResume Verb = "resume"
	VerbStop   Verb = "stop"
	VerbFork   Verb = "fork"
	VerbNote   Verb = "note" // it changes nothing
)

// Changes returns the changes of the run after the first n, in order. The result includes at least the changes that the
// caller knows about: see Log.After.
func (r Run) Changes(ctx context.Context, b store.Bucket, n, known int) ([]Change, error) {
	return Log[Change](r.Change).After(ctx, b, n, known)
}

// lookBack is how much older than a change the others must be for Append to stop looking for the same one: clocks of
// people differ by less.
const lookBack = time.Hour

// Append records a change after the run's existing changes, and returns its number. It may be repeated with the same
// change, which is recorded once.
func (r Run) Append(ctx context.Context, b store.Bucket, c Change) (int, error) {
	last, err := store.Last(ctx, b, 0, func(n int) string { return r.Change(n).Key })
	if err != nil {
		return 0, err
	}
	for n := last; n > 0; n-- {
		old, _, err := r.Change(n).Must(ctx, b)
		if err != nil || same(old, c) {
			return n, err
		}
		if old.At.Before(c.At.Add(-lookBack)) {
			break
		}
	}
	for n := last + 1; ; n++ {
		got, _, err := r.Change(n).Record(ctx, b, func() (Change, error) { return c, nil })
		if err != nil || same(got, c) {
			return n, err
		}
	}
}

// Bounds of a note, in bytes.
const maxNote, maxLink = 4000, 400

// Note records a person's note about a run, even one that has ended. Link is a page of the viewer, or "". It returns an
// invalid fault if there is no text, or too much. It may be repeated with the same change.
func (r Run) Note(ctx context.Context, b store.Bucket, c Change) error {
	if _, err := r.Find(ctx, b); err != nil {
		return err
	}
	bad := strings.ContainsFunc(c.Link, func(x rune) bool { return !unicode.IsPrint(x) })
	switch {
	case strings.TrimSpace(c.Why) == "" || len(c.Why) > maxNote:
		return fault.New(fault.Invalid, "a note has 1 to %d bytes, not %d", maxNote, len(c.Why))
	case c.Link != "" && !strings.HasPrefix(c.Link, "#/"), len(c.Link) > maxLink, bad:
		return fault.New(fault.Invalid, "the link of a note is what follows the host in the address of a page of the "+
			"viewer, such as #/episode/%s/1/3, not %q", r, c.Link)
	}
	c.Verb = VerbNote
	_, err := r.Append(ctx, b, c)

	return err
}

// same reports whether two changes are one: a person does one thing at a time.
func same(a, b Change) bool {
	at := a.At.Equal(b.At)
	a.At, b.At = time.Time{}, time.Time{}

	return at && reflect.DeepEqual(a, b)
}

// Set records new values of keys, as a person typed them in YAML, and returns the change as recorded, with its number.
// It returns an invalid fault if the values are impossible or come too late. It may be repeated with the same time.
func (r Run) Set(
	ctx context.Context, b store.Bucket, c Change, typed map[string]string, src spec.Source, catalog spec.Catalog,
) (Change, int, error) {
	s, err := r.Current(ctx, b)
	if err != nil {
		return c, 0, err
	}
	if c.Values, err = s.Change(typed, src, catalog); err != nil {
		return c, 0, err
	}
	if err := r.late(ctx, b, s, c.Values); err != nil {
		return c, 0, err
	}
	c.Verb = VerbSet
	n, err := r.Append(ctx, b, c)

	return c, n, err
}

// late returns an error for values on which nothing would depend any more.
func (r Run) late(ctx context.Context, b store.Bucket, s spec.Spec, v spec.Values) error {
	_, ended, err := r.End().Sure(ctx, b)
	if err != nil {
		return err
	}
	if ended {
		return fault.New(fault.Invalid, "run %s has ended: fork it with `collabui fork %s` to continue with other "+
			"values", r, fault.ShellQuote(string(r)))
	}
	_, last, err := r.Final().Sure(ctx, b)
	if err != nil || !last {
		return err
	}
	for _, key := range v.Keys() {
		if !s.Immediate(key) {
			return fault.New(fault.Invalid, "%s: run %s is in its last evaluation, for which this comes too late; "+
				"fork it with `collabui fork %s` when it has ended", key, r, fault.ShellQuote(string(r)))
		}
	}

	return nil
}

// After returns a specification after the first n changes. Of later changes, it includes what takes effect immediately.
func After(s spec.Spec, changes []Change, n int) (spec.Spec, error) {
	for i, c := range changes {
		v := c.Values
		if i >= n {
			v = spec.Values{}
			for key, value := range c.Values {
				if s.Immediate(key) {
					v[key] = value
				}
			}
		}
		var err error
		if s, err = s.With(v); err != nil {
			return s, err
		}
	}

	return s, nil
}

// Current returns the specification of the run with all its changes.
func (r Run) Current(ctx context.Context, b store.Bucket) (spec.Spec, error) {
	s, err := r.Find(ctx, b)
	if err != nil {
		return s, err
	}
	all, err := r.Changes(ctx, b, 0, 0)
	if err != nil {
		return s, err
	}

	return After(s, all, len(all))
}

// At returns the specification of the run as it is in an epoch: with the changes that count there. Epoch 0 is the time
// before the first epoch, and an epoch that has not begun is like the newest.
func (r Run) At(ctx context.Context, b store.Bucket, epoch int) (spec.Spec, error) {
	x, err := r.Shared(ctx, b)
	if err != nil {
		return spec.Spec{}, r.named(err)
	}
	if owner, ok := x.Owner(epoch); ok {
		s, err := owner.at(ctx, b, epoch)
		s.Name = string(r)

		return s, err
	}
	if err := r.Alive(ctx, b); err != nil {
		return spec.Spec{}, err
	}

	return r.at(ctx, b, epoch)
}

// at is At for an epoch that the run does not share. It also reads deleted runs, because forks keep them.
func (r Run) at(ctx context.Context, b store.Bucket, epoch int) (spec.Spec, error) {
	s, _, err := r.Spec().Must(ctx, b)
	if err != nil {
		return s, err
	}
	counts := 0
	begun := true
	if epoch > 0 {
		made, there, err := r.Made(epoch).Sure(ctx, b)
		if err != nil {
			return s, err
		}
		counts = made.Changes
		begun = there
	}
	all, err := r.Changes(ctx, b, 0, counts)
	if err != nil {
		return s, err
	}
	if !begun {
		counts = len(all)
	}

	return After(s, all, counts)
}
