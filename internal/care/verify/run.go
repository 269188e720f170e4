package verify

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/credit"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/lines"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
)

// Run checks every committed epoch of a run: that each slot is committed once or recorded as failed, that no update is
// applied twice, that every pair follows from labelled cells, a topology and a system version, and that the digests
// follow from the stored objects.
func Run(ctx context.Context, bucket store.Bucket, run string) ([]Problem, error) {
	r := runs.Run(run)
	specification, _, err := r.Spec().Must(ctx, bucket)
	if err != nil {
		return nil, err
	}
	base, exists, err := r.Base().Sure(ctx, bucket)
	if err != nil {
		return nil, err
	}
	if !exists {
		return withoutBase(ctx, bucket, r)
	}

	v := &validator{
		b:      bucket,
		run:    r,
		spec:   specification,
		system: runs.System{Policies: slices.Repeat([]runs.Policy{base.Policy}, specification.Agents)},
		digest: base.Policy.Tensor,
	}
	err = v.all(ctx)
	if errors.Is(err, store.ErrAbsent) { // objects that depend on it cannot be checked
		v.say(r.Prefix(), "%v", err)
		err = nil
	}

	return v.problems, err
}

// withoutBase checks, for a run without a base policy, that nothing needs one.
func withoutBase(ctx context.Context, bucket store.Bucket, run runs.Run) ([]Problem, error) {
	problem := func(what string) []Problem {
		return []Problem{{Key: run.Base().Key, Detail: "it is missing, but " + what}}
	}
	own, err := store.Keys(ctx, bucket, run.Prefix())
	if err != nil {
		return nil, err
	}
	for _, key := range own {
		if below, ok := strings.CutPrefix(key, run.Prefix()+"epochs/"); ok && !strings.HasPrefix(below, "0000/") {
			return problem("there is " + key), nil
		}
	}
	names, err := lines.Names(ctx, bucket)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		entries, err := lines.Line(name).History(ctx, bucket, 0)
		if err != nil {
			return nil, err
		}
		for _, entry := range entries {
			if entry.System.Run == string(run) {
				return problem(fmt.Sprintf("entry %d of line %s names %s", entry.Number, name, entry.System)), nil
			}
		}
	}
	all, err := store.Keys(ctx, bucket, runs.AllPrefix)
	if err != nil {
		return nil, err
	}
	for _, key := range all {
		fork := runs.Run(runs.NameOf(key))
		if key != fork.Origin().Key {
			continue
		}
		origin, _, err := fork.Origin().Must(ctx, bucket)
		if err != nil {
			return nil, err
		}
		if origin.Run == string(run) {
			return problem(fmt.Sprintf("run %s is a fork of it", fork)), nil
		}
	}

	return nil, nil
}

// validator checks a run from its start to its end.
type validator struct {
	b        store.Bucket
	run      runs.Run
	spec     spec.Spec
	system   runs.System // the system with which the epoch's updates begin
	before   runs.System // the system with which the previous epoch's updates began
	played   runs.System // the system that plays the epoch's rollouts
	reading  credit.Reading
	prints   []fingerprint // pairs of the newest epoch
	digest   string        // digest of the previous epoch
	problems []Problem
}

func (v *validator) say(key, format string, args ...any) {
	v.problems = append(v.problems, Problem{Key: key, Detail: fmt.Sprintf(format, args...)})
}

// all checks the levels of stage 1, the committed epochs and the end of the run.
func (v *validator) all(ctx context.Context) error {
	for _, level := range v.spec.FineTune.Levels {
		if err := v.level(ctx, level); err != nil {
			return err
		}
	}
	committed, err := v.run.Committed(ctx, v.b)
	if err != nil {
		return err
	}
	for k := 1; k <= committed; k++ {
		epoch, _, err := v.run.Epoch(k).Must(ctx, v.b)
		if err != nil {
			return err
		}
		if _, _, err := v.run.Made(k).Must(ctx, v.b); err != nil {
			return err
		}
		if v.spec, err = v.run.At(ctx, v.b, k); err != nil {
			return err
		}
		if err := v.epoch(ctx, epoch); err != nil {
			return err
		}
	}

	return v.end(ctx)
}

// below returns a key relative to its run: a fork's manifests refer to the objects of the run that it was made from.
func below(key string) string {
	if parts := strings.SplitN(key, "/", 3); len(parts) == 3 {
		return parts[2]
	}

	return key
}

func (v *validator) end(ctx context.Context) error {
	end, ended, err := v.run.End().Sure(ctx, v.b)
	if ended && end.FinalDigest != v.digest {
		v.say(v.run.End().Key, "the final digest is not that of the last epoch")
	}

	return err
}

// pairs reads the body of a data set. If the body is not a list of pairs, it records a problem for key and ok is false.
func (v *validator) pairs(
	ctx context.Context, key string, body store.Ref,
) (pairs []domain.Example, ok bool, err error) {
	pairs, err = runs.ReadPairs(ctx, v.b, body)
	if fault.KindOf(err) == fault.Corrupt {
		v.say(key, "its body cannot be read: %v", err)

		return nil, false, nil
	}

	return pairs, err == nil, err
}
