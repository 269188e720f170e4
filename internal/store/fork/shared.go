package fork

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/store/runs"
)

// compare finds how far the original's epochs stay valid: what a key changes is recomputed, and all that follows.
func (f *Fork) compare(ctx context.Context, b store.Bucket, committed int) error {
	mine, err := runs.After(f.spec, f.changes, len(f.changes))
	if err != nil {
		return err
	}
	if mine.Epochs < f.Origin.Epoch {
		return fault.New(fault.Invalid, "epochs: expected at least %d, which the fork shares, not %d",
			f.Origin.Epoch, mine.Epochs)
	}
	f.Whole, f.Tests = f.Origin.Epoch, true
	from := runs.Run(f.Origin.Run)
	for epoch := f.Origin.Epoch + 1; epoch <= min(committed, mine.Epochs); epoch++ {
		theirs, err := from.At(ctx, b, epoch)
		if err != nil {
			return err
		}
		changed := differing(theirs, mine)
		f.From = first(mine, changed)
		if f.From < spec.StepTest {
			f.onlySlots(mine, theirs, changed)

			break
		}
		f.Whole, f.From = epoch, 0
	}

	atEnd, err := f.atEnd(ctx, b)
	if err != nil {
		return err
	}
	for _, key := range differing(atEnd, mine) {
		if e, ok := mine.EffectOf(key); ok && (e.Plays || e.First == spec.StepTest) {
			f.Tests = false
		}
	}

	return nil
}

// atEnd returns the specification by which the original was evaluated at its end.
func (f *Fork) atEnd(ctx context.Context, b store.Bucket) (spec.Spec, error) {
	from := runs.Run(f.Origin.Run)
	s, err := from.Find(ctx, b)
	if err != nil {
		return s, err
	}
	m, _, err := from.Final().Read(ctx, b)
	if err != nil && !errors.Is(err, store.ErrNotFound) { // it has not ended, or is of an older version
		return s, err
	}
	all, err := from.Changes(ctx, b, 0)
	if err != nil {
		return s, err
	}

	return runs.After(s, all, min(m.Changes, len(all)))
}

// onlySlots notes that an epoch's plan changes in nothing but the number of its slots: the episodes of slots that both
// have stay valid, as far as no other key changes them.
func (f *Fork) onlySlots(mine, theirs spec.Spec, changed []string) {
	others := slices.DeleteFunc(slices.Clone(changed), func(key string) bool { return key == "slots" })
	if step := first(mine, others); step > spec.StepPlan && len(others) < len(changed) {
		f.From, f.slots = min(step, spec.StepUpdate), min(mine.Slots, theirs.Slots)
	}
}

// first returns the first step that depends on one of some keys.
func first(s spec.Spec, keys []string) spec.Step {
	step := spec.StepNone
	for _, key := range keys {
		e, ok := s.EffectOf(key)
		if !ok {
			e.First = spec.StepPlan
		}
		step = min(step, e.First)
	}

	return step
}

// differing returns the keys in which two specifications differ, names apart.
func differing(a, b spec.Spec) []string {
	b.Name = a.Name
	x, _ := json.Marshal(a) // specifications that are stored can be encoded
	y, _ := json.Marshal(b)
	var out []string
	diff("", x, y, &out)
	if (a.Preference == spec.PreferenceGRPO) != (b.Preference == spec.PreferenceGRPO) || a.Clones() != b.Clones() {
		out = append(out, "pairs") // others are made in their place
	}

	return out
}

// diff appends the paths at which two JSON values differ.
func diff(path string, a, b json.RawMessage, out *[]string) {
	if bytes.Equal(a, b) {
		return
	}
	var x, y map[string]json.RawMessage
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil || x == nil || y == nil {
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

// list finds the objects of the original that stay valid.
func (f *Fork) list(ctx context.Context, b store.Bucket) error {
	prefix := runs.Run(f.Origin.Run).Prefix()
	all, err := b.List(ctx, prefix)
	if err != nil {
		return err
	}
	for _, o := range all {
		if key := strings.TrimPrefix(o.Key, prefix); f.shares(key) {
			f.keys = append(f.keys, key)
		}
	}
	f.Objects = len(f.keys)

	return nil
}

// shares reports whether an object of the original, by its key below the run, is copied. Steps are not: episodes refer
// to those of the original. Neither are checkpoints of training that has ended and recorded calls.
func (f *Fork) shares(key string) bool {
	parts := strings.Split(key, "/")
	switch {
	case strings.Contains(key, "-checkpoint-"), strings.Contains(key, "/steps/"):
		return false
	case key == "base.json", parts[0] == "finetune":
		return true
	case parts[0] == "epochs" && len(parts) > 2:
		return f.sharesEpoch(number(parts[1]), parts[2:])
	case parts[0] == "evals" && len(parts) > 3:
		return f.sharesEvaluation(parts[1], parts[3])
	}

	return false
}

// sharesEpoch reports whether a part of an epoch is copied.
func (f *Fork) sharesEpoch(epoch int, rest []string) bool {
	if rest[0] == "made.json" {
		return epoch <= f.Origin.Epoch // of later ones, the fork has its own
	}
	if epoch <= f.Whole {
		return true
	}
	step := stepOf(rest)
	if epoch > f.Whole+1 || step >= f.From {
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

// stepOf returns which step of an epoch records an object, by its key below the epoch.
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

// sharesEvaluation reports whether an evaluated episode or result is copied: of val with its epoch, of anything else if
// the evaluations at the end stay valid.
func (f *Fork) sharesEvaluation(folder, split string) bool {
	if folder == rules.ReferenceFolder {
		return f.Tests
	}
	epoch, ok := rules.EpochOf(folder)
	if !ok {
		return false
	}
	if split == domain.SplitVal {
		return epoch <= f.Whole || epoch == f.Whole+1 && f.From > spec.StepEvaluation
	}

	return f.Tests && epoch <= f.Whole
}

// slotOf returns the slot of an object of an epoch, by its key below the epoch, or 0.
func slotOf(rest []string) int {
	if rest[0] != "episodes" || len(rest) < 2 {
		return 0
	}

	return number(rest[1])
}

// number returns the number in a part of a key, or 0.
func number(text string) (n int) {
	_, _ = fmt.Sscanf(text, "%d", &n)

	return n
}
