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

// Change is a person's change to a run. Changes are numbered from 1. Every epoch begins with a certain number of them,
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
func (r Run) Changes(ctx context.Context, bucket store.Bucket, n, known int) ([]Change, error) {
	return Log[Change](r.Change).After(ctx, bucket, n, known)
}

// lookBack is how much older than a change the others must be for Append to stop looking for the same one: clocks of
// people differ by less.
const lookBack = time.Hour

// Append records a change after the run's existing changes, and returns its number. It may be repeated with the same
// change, which is recorded once.
func (r Run) Append(ctx context.Context, bucket store.Bucket, change Change) (int, error) {
	last, err := store.Last(ctx, bucket, 0, func(n int) string { return r.Change(n).Key })
	if err != nil {
		return 0, err
	}
	for n := last; n > 0; n-- {
		old, _, err := r.Change(n).Must(ctx, bucket)
		if err != nil || same(old, change) {
			return n, err
		}
		if old.At.Before(change.At.Add(-lookBack)) {
			break
		}
	}
	for n := last + 1; ; n++ {
		got, _, err := r.Change(n).Record(ctx, bucket, func() (Change, error) { return change, nil })
		if err != nil || same(got, change) {
			return n, err
		}
	}
}

// Bounds of a note, in bytes.
const (
	maxNote = 4000
	maxLink = 400
)

// Note records a person's note about a run, even one that has ended. Link is a page of the viewer, or "". It returns an
// invalid fault if there is no text, or too much. It may be repeated with the same change.
func (r Run) Note(ctx context.Context, bucket store.Bucket, change Change) error {
	if _, err := r.Find(ctx, bucket); err != nil {
		return err
	}
	bad := strings.ContainsFunc(change.Link, func(x rune) bool { return !unicode.IsPrint(x) })
	switch {
	case strings.TrimSpace(change.Why) == "" || len(change.Why) > maxNote:
		return fault.New(fault.Invalid, "a note has 1 to %d bytes, not %d", maxNote, len(change.Why))
	case change.Link != "" && !strings.HasPrefix(change.Link, "#/"), len(change.Link) > maxLink, bad:
		return fault.New(fault.Invalid, "the link of a note is what follows the host in the address of a page of the "+
			"viewer, such as #/episode/%s/1/3, not %q", r, change.Link)
	}
	change.Verb = VerbNote
	_, err := r.Append(ctx, bucket, change)

	return err
}

// same reports whether two changes are one: a person does one thing at a time.
func same(change, b Change) bool {
	at := change.At.Equal(b.At)
	change.At, b.At = time.Time{}, time.Time{}

	return at && reflect.DeepEqual(change, b)
}

// Set records new values of keys, as a person typed them in YAML, and returns the change as recorded, with its number.
// It returns an invalid fault if the values are impossible or come too late. It may be repeated with the same time.
func (r Run) Set(
	ctx context.Context, bucket store.Bucket, c Change, typed map[string]string, src spec.Source, catalog spec.Catalog,
) (Change, int, error) {
	specification, err := r.Current(ctx, bucket)
	if err != nil {
		return c, 0, err
	}
	if c.Values, err = specification.Change(typed, src, catalog); err != nil {
		return c, 0, err
	}
	if err := r.tooLate(ctx, bucket, specification, c.Values); err != nil {
		return c, 0, err
	}
	c.Verb = VerbSet
	n, err := r.Append(ctx, bucket, c)

	return c, n, err
}

// tooLate returns an error for values on which nothing would depend any more.
func (r Run) tooLate(ctx context.Context, bucket store.Bucket, specification spec.Spec, values spec.Values) error {
	_, ended, err := r.End().Sure(ctx, bucket)
	if err != nil {
		return err
	}
	if ended {
		return fault.New(fault.Invalid, "run %s has ended: fork it with `collabui fork %s --epoch K --name NEW` to "+
			"continue with other values", r, fault.ShellQuote(string(r)))
	}
	_, last, err := r.Final().Sure(ctx, bucket)
	if err != nil || !last {
		return err
	}
	for _, key := range values.Keys() {
		if !specification.Immediate(key) {
			return fault.New(fault.Invalid, "%s: run %s is in its last evaluation, for which this comes too late; "+
				"fork it with `collabui fork %s --epoch K --name NEW` when it has ended", key, r,
				fault.ShellQuote(string(r)))
		}
	}

	return nil
}

// After returns a specification after the first n changes. It includes later changes that take effect immediately.
func After(specification spec.Spec, changes []Change, n int) (spec.Spec, error) {
	for i, change := range changes {
		values := change.Values
		if i >= n {
			values = spec.Values{}
			for key, value := range change.Values {
				if specification.Immediate(key) {
					values[key] = value
				}
			}
		}
		var err error
		if specification, err = specification.With(values); err != nil {
			return specification, err
		}
	}

	return specification, nil
}

// Current returns the specification of the run with all its changes.
func (r Run) Current(ctx context.Context, bucket store.Bucket) (spec.Spec, error) {
	specification, err := r.Find(ctx, bucket)
	if err != nil {
		return specification, err
	}
	all, err := r.Changes(ctx, bucket, 0, 0)
	if err != nil {
		return specification, err
	}

	return After(specification, all, len(all))
}

// At returns the specification of the run as it is in an epoch: with the changes that count there. Epoch 0 is the time
// before the first epoch, and an epoch that has not begun is like the newest.
func (r Run) At(ctx context.Context, bucket store.Bucket, epoch int) (spec.Spec, error) {
	shared, err := r.Shared(ctx, bucket)
	if err != nil {
		return spec.Spec{}, r.named(err)
	}
	if owner, ok := shared.Owner(epoch); ok {
		specification, err := owner.at(ctx, bucket, epoch)
		specification.Name = string(r)

		return specification, err
	}
	if err := r.Alive(ctx, bucket); err != nil {
		return spec.Spec{}, err
	}

	return r.at(ctx, bucket, epoch)
}

// at is At for an epoch that the run does not share. It also reads deleted runs, because forks keep them.
func (r Run) at(ctx context.Context, bucket store.Bucket, epoch int) (spec.Spec, error) {
	specification, _, err := r.Spec().Must(ctx, bucket)
	if err != nil {
		return specification, err
	}
	counts := 0
	begun := true
	if epoch > 0 {
		made, exists, err := r.Made(epoch).Sure(ctx, bucket)
		if err != nil {
			return specification, err
		}
		counts = made.Changes
		begun = exists
	}
	all, err := r.Changes(ctx, bucket, 0, counts)
	if err != nil {
		return specification, err
	}
	if !begun {
		counts = len(all)
	}

	return After(specification, all, counts)
}
