package fork

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
)

// compare determines how far the original's epochs stay valid: up to the first step that depends on a changed key.
func (f *Fork) compare(ctx context.Context, bucket store.Bucket, committed int) error {
	forkSpec, err := runs.After(f.spec, f.changes, len(f.changes))
	if err != nil {
		return err
	}
	if forkSpec.Epochs < f.Origin.Epoch {
		return fault.New(fault.Invalid, "epochs: expected at least %d, which the fork shares, not %d",
			f.Origin.Epoch, forkSpec.Epochs)
	}
	f.Whole = f.Origin.Epoch
	f.Tests = true
	from := runs.Run(f.Origin.Run)
	for epoch := f.Origin.Epoch + 1; epoch <= min(committed, forkSpec.Epochs); epoch++ {
		originalSpec, err := from.At(ctx, bucket, epoch)
		if err != nil {
			return err
		}
		changed := differing(originalSpec, forkSpec)
		f.From = first(forkSpec, changed)
		if f.From < spec.StepTest {
			f.onlySlots(forkSpec, originalSpec, changed)

			break
		}
		f.Whole = epoch
		f.From = 0
	}

	atEnd, err := f.atEnd(ctx, bucket)
	if err != nil {
		return err
	}
	for _, key := range differing(atEnd, forkSpec) {
		if effect, ok := forkSpec.EffectOf(key); ok && (effect.Plays || effect.First == spec.StepTest) {
			f.Tests = false
		}
	}

	return nil
}

// atEnd returns the specification by which the original was evaluated at its end.
func (f *Fork) atEnd(ctx context.Context, bucket store.Bucket) (spec.Spec, error) {
	from := runs.Run(f.Origin.Run)
	specification, err := from.Find(ctx, bucket)
	if err != nil {
		return specification, err
	}
	made, _, err := from.Final().Sure(ctx, bucket) // nil if it has not ended
	if err != nil {
		return specification, err
	}
	all, err := from.Changes(ctx, bucket, 0, made.Changes)
	if err != nil {
		return specification, err
	}

	return runs.After(specification, all, made.Changes)
}

// onlySlots records that an epoch's plan differs only in its number of slots: the episodes of slots that both plans
// have stay valid, as far as no other key changes them.
func (f *Fork) onlySlots(forkSpec, originalSpec spec.Spec, changed []string) {
	others := slices.DeleteFunc(slices.Clone(changed), func(key string) bool { return key == "slots" })
	if step := first(forkSpec, others); step > spec.StepPlan && len(others) < len(changed) {
		f.From = min(step, spec.StepUpdate)
		f.slots = min(forkSpec.Slots, originalSpec.Slots)
	}
}

// first returns the first step that depends on one of some keys.
func first(specification spec.Spec, keys []string) spec.Step {
	step := spec.StepNone
	for _, key := range keys {
		effect, ok := specification.EffectOf(key)
		if !ok {
			effect.First = spec.StepPlan
		}
		step = min(step, effect.First)
	}

	return step
}

// differing returns the keys in which two specifications differ, apart from names.
func differing(a, b spec.Spec) []string {
	b.Name = a.Name
	x, _ := json.Marshal(a) // specifications that are stored can be encoded
	y, _ := json.Marshal(b)
	var out []string
	diff("", x, y, &out)
	if (a.Preference == spec.PreferenceGRPO) != (b.Preference == spec.PreferenceGRPO) || a.Clones() != b.Clones() ||
		a.LearnsRight() != b.LearnsRight() {
		out = append(out, "pairs") // other pairs are made in their place
	}

	return out
}

// diff appends the paths at which two JSON values differ.
func diff(path string, left, right json.RawMessage, out *[]string) {
	if bytes.Equal(left, right) {
		return
	}
	var x, y map[string]json.RawMessage
	if json.Unmarshal(left, &x) != nil || json.Unmarshal(right, &y) != nil || x == nil || y == nil {
		*out = append(*out, path)

		return
	}
	for name := range y {
		if _, ok := x[name]; !ok {
			x[name] = nil
		}
	}
	for name := range x {
		diff(strings.TrimPrefix(path+"."+name, "."), x[name], y[name], out)
	}
}

// list determines the shared parts of the fork, and the objects of the original that are copied.
func (f *Fork) list(ctx context.Context, bucket store.Bucket) error {
	from := runs.Run(f.Origin.Run)
	shared, err := from.Shared(ctx, bucket)
	if err != nil {
		return err
	}
	f.shared.Parts = shared.Of(from, f.Whole, f.Tests)
	if f.shared.Commit, err = commitOf(ctx, bucket, from, f.Whole); err != nil {
		return err
	}
	if err := f.remember(ctx, bucket, shared); err != nil {
		return err
	}
	if f.From > spec.StepPlan || f.slots > 0 {
		by, err := from.By(ctx, bucket)
		if err != nil {
			return err
		}
		f.shared.Copied = []string{by.Tag}
		if shared != nil {
			f.shared.Copied = append(f.shared.Copied, shared.Copied...)
		}
	}

	return f.listCopies(ctx, bucket)
}

// remember collects the results of the shared epochs on val. For epochs that the original shares, it has a record.
func (f *Fork) remember(ctx context.Context, bucket store.Bucket, shared *runs.Shared) error {
	from := runs.Run(f.Origin.Run)
	if shared != nil {
		past, _, err := from.Past().Must(ctx, bucket)
		if err != nil {
			return err
		}
		f.past = slices.DeleteFunc(past, func(pastEpoch runs.PastEpoch) bool { return pastEpoch.Epoch > f.Whole })
	}
	for epoch := shared.Last() + 1; epoch <= f.Whole; epoch++ {
		e, _, err := from.Epoch(epoch).Must(ctx, bucket)
		if err != nil {
			return err
		}
		then, err := from.At(ctx, bucket, epoch)
		if err != nil {
			return err
		}
		if e.Val != nil {
			f.past = append(f.past, runs.PastEpoch{
				Epoch: epoch, Rate: e.Val.Rate, Kept: e.Kept != "", Val: rules.ValOf(then),
			})
		}
	}

	return nil
}

// copiesOf reports whether an object of the epoch that is not shared as a whole is copied. parts are the parts of its
// key below the epoch.
func (f *Fork) copiesOf(rest []string) bool {
	step := stepOf(rest)
	if step >= f.From { // the fork has its own
		return false
	}
	if _, other := f.labels[slotOf(rest)]; other && (step == spec.StepCredit || step == spec.StepPairs) {
		return false
	}
	if f.slots > 0 {
		return rest[0] == "topology.json" || rest[0] == "episodes" && number(rest[1]) <= f.slots
	}

	return true
}

// stepOf returns the step of an epoch that records an object, by the object's key below the epoch.
func stepOf(rest []string) spec.Step {
	switch last := rest[len(rest)-1]; {
	case rest[0] == "topology.json", rest[0] == "slots.json":
		return spec.StepPlan
	case rest[0] == "agents":
		return spec.StepUpdate
	case last == "credit.json":
		return spec.StepCredit
	case last == "pairs.json", rest[0] == "accepted.json":
		return spec.StepPairs
	case rest[0] == "episodes":
		return spec.StepRollout
	}

	return spec.StepCommit
}

// slotOf returns the slot of an object of an epoch, by its key below the epoch, or 0.
func slotOf(rest []string) int {
	if rest[0] != "episodes" || len(rest) < 2 {
		return 0
	}

	return number(rest[1])
}

// number returns the number in a part of a key, or 0 if there is no number.
func number(text string) (n int) {
	_, _ = fmt.Sscanf(text, "%d", &n)

	return n
}
