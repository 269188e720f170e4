package runs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/store"
)

// Shared names the objects that a fork has in common with other runs, where they stay. It is part of the stored form of
// the fork's specification, which every run has: whether a run is a fork never follows from the absence of an object.
type Shared struct {
	Commit store.Ref `json:"commit"` // the last epoch shared as a whole, or the base policy
	Parts  []Part    `json:"parts"`  // in the order of their epochs

	// Copied are the tags (see By) of the copied records, for an epoch that is not shared as a whole.
	Copied []string `json:"copied,omitempty"`
}

// Part names the objects that a fork shares with one run: the epochs after the previous part's last one, up to Last.
// The first part also shares stage 1.
type Part struct {
	Run   Run  `json:"run"`
	Last  int  `json:"last"`
	Tests bool `json:"tests,omitempty"` // the evaluations at the end of the run are shared, too
}

// Past contains the results of a fork's shared epochs on val, so that the fork need not read them to choose its best
// one. Epochs that were not evaluated are left out.
type Past []PastEpoch

// PastEpoch is the result of an epoch on val.
type PastEpoch struct {
	Epoch int     `json:"epoch"`
	Rate  float64 `json:"rate"`
	Kept  bool    `json:"kept,omitempty"` // the agents continued with another system
	Val   string  `json:"val"`            // identifies the episodes: see rules.ValOf
}

// Forked is a specification in its stored form. For a fork, it also contains the shared objects.
type Forked struct {
	spec.Spec
	Shared *Shared `json:"shared,omitempty"`
}

// sharing is the part of a stored specification that names the shared objects.
type sharing struct {
	Shared *Shared `json:"shared"`
}

// UnmarshalJSON decodes both parts, because a specification has defaults.
func (f *Forked) UnmarshalJSON(raw []byte) error {
	var rest sharing
	if err := json.Unmarshal(raw, &rest); err != nil {
		return err
	}
	f.Shared = rest.Shared

	return f.Spec.UnmarshalJSON(raw)
}

// Forked returns the specification in its stored form.
func (r Run) Forked() Object[Forked] { return Object[Forked]{r.Spec().Key} }

// Shared returns the objects that the run shares with others, or nil if the run is not a fork. The error wraps
// store.ErrNotFound if there is no such run.
func (r Run) Shared(ctx context.Context, bucket store.Bucket) (*Shared, error) {
	f, exists, err := store.Sure[sharing](ctx, bucket, r.Forked().Key)
	if err == nil && !exists {
		err = fmt.Errorf("run %q: %w", string(r), store.ErrNotFound)
	}

	return f.Shared, err
}

// In returns the run that has the objects of an epoch: the run itself, or the one with which it shares the epoch.
func (r Run) In(ctx context.Context, bucket store.Bucket, epoch int) (Run, error) {
	shared, err := r.Shared(ctx, bucket)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return r, err
	}
	if owner, ok := shared.Owner(epoch); ok {
		return owner, nil
	}

	return r, nil
}

// Last returns the last epoch that is shared as a whole.
func (s *Shared) Last() int {
	if s == nil || len(s.Parts) == 0 {
		return 0
	}

	return s.Parts[len(s.Parts)-1].Last
}

// Owner returns the run that has the objects of an epoch, or false if the fork does not share the epoch. 0 is stage 1.
func (s *Shared) Owner(epoch int) (Run, bool) {
	if s == nil || epoch < 0 {
		return "", false
	}
	i := slices.IndexFunc(s.Parts, func(part Part) bool { return part.Last >= epoch })
	if i < 0 {
		return "", false
	}

	return s.Parts[i].Run, true
}

// Of returns the parts, up to an epoch, of a fork of a run; s contains the objects that the run itself shares.
func (s *Shared) Of(run Run, epoch int, tests bool) (parts []Part) {
	if s != nil {
		parts = slices.Clone(s.Parts)
	}
	for i := range parts {
		parts[i].Last = min(parts[i].Last, epoch)
		parts[i].Tests = parts[i].Tests && tests
	}
	last := -1

	return slices.DeleteFunc(append(parts, Part{Run: run, Last: epoch, Tests: tests}), func(part Part) bool {
		empty := part.Last == last && !part.Tests
		last = part.Last

		return empty
	})
}

// holders returns the runs that may have an object of the fork, by its key below the run.
func (s *Shared) holders(below string) []Run {
	parts := strings.Split(below, "/")
	switch {
	case s == nil:
	case parts[0] == "finetune":
		return s.owners(0)
	case parts[0] == "epochs" && len(parts) > 2:
		epoch := 0
		_, _ = fmt.Sscanf(parts[1], "%d", &epoch)

		return s.owners(epoch)
	case parts[0] == "evals" && len(parts) > 3:
		return s.evaluators(parts[1], parts[3])
	case parts[0] == "evals" && len(parts) == 3: // a folder
		return append(s.evaluators(parts[1], domain.SplitVal), s.evaluators(parts[1], "")...)
	}

	return nil
}

// owners returns the owners of the given epochs.
func (s *Shared) owners(epochs ...int) (out []Run) {
	for _, epoch := range epochs {
		if run, ok := s.Owner(epoch); ok {
			out = append(out, run)
		}
	}

	return out
}

// evaluators returns the runs that may have evaluated a split in a folder. The base is evaluated on val before the
// first epoch, and all other splits when a run ends.
func (s *Shared) evaluators(folder, split string) (out []Run) {
	epoch, ok := rules.EpochOf(folder)
	switch {
	case !ok && folder != rules.ReferenceFolder:
		return nil
	case ok && split == domain.SplitVal && epoch == 0:
		return s.owners(1, 0)
	case ok && split == domain.SplitVal:
		return s.owners(epoch)
	}
	for _, part := range slices.Backward(s.Parts) {
		if !part.Tests {
			break
		}
		if part.Last >= epoch {
			out = append(out, part.Run)
		}
	}

	return out
}

// shareable are the prefixes of keys, below a run, of objects that a fork may share.
var shareable = []string{"epochs/", "evals/", "finetune/"}

// find calls read with the key of an object, and reports whether the object exists. If it does not, and the key belongs
// to a fork, find calls read with the object's keys in the runs with which the fork shares it, until one has it.
func find(ctx context.Context, bucket store.Bucket, key string, read func(key string) (bool, error)) (bool, error) {
	exists, err := read(key)
	run := Run(NameOf(key))
	below := strings.TrimPrefix(key, run.Prefix())
	hasPrefix := func(beginning string) bool { return strings.HasPrefix(below, beginning) }
	if err != nil || exists || run == "" || !slices.ContainsFunc(shareable, hasPrefix) {
		return exists, err
	}
	shared, err := run.Shared(ctx, bucket)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return false, err
	}
	for _, holder := range shared.holders(below) {
		if exists, err = read(holder.Prefix() + below); err != nil || exists {
			return exists, err
		}
	}

	return false, nil
}

// Raw returns the bytes of an object that a run has or shares. The error wraps store.ErrNotFound if the store shows
// neither.
func Raw(ctx context.Context, bucket store.Bucket, key string) (raw []byte, err error) {
	var read error
	exists, err := find(ctx, bucket, key, func(key string) (bool, error) {
		raw, read = bucket.Get(ctx, key)
		if errors.Is(read, store.ErrNotFound) {
			return false, nil
		}

		return true, read
	})
	if err == nil && !exists {
		err = read
	}

	return raw, err
}

// Keys returns the keys of the run's objects in a folder, in lexical order. Shared objects are listed under the keys
// that they would have in the run itself.
func (r Run) Keys(ctx context.Context, bucket store.Bucket, folder string) ([]string, error) {
	keys, err := store.Keys(ctx, bucket, r.Prefix()+folder)
	if err != nil {
		return nil, err
	}
	shared, err := r.Shared(ctx, bucket)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return nil, err
	}
	if shared == nil {
		return keys, nil
	}
	from := shared.holders(folder)
	if strings.Count(folder, "/") == 1 { // the folder of all epochs
		for _, part := range shared.Parts {
			from = append(from, part.Run)
		}
	}
	for i, run := range from {
		if slices.Contains(from[:i], run) {
			continue
		}
		shownKeys, err := store.Keys(ctx, bucket, run.Prefix()+folder)
		if err != nil {
			return nil, err
		}
		for _, key := range shownKeys {
			below := strings.TrimPrefix(key, run.Prefix())
			if slices.Contains(shared.holders(below), run) {
				keys = append(keys, r.Prefix()+below)
			}
		}
	}
	slices.Sort(keys)

	return slices.Compact(keys), nil
}
