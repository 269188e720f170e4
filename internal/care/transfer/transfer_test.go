package transfer_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/care/fork"
	"github.com/collabui/collabui/internal/care/transfer"
	"github.com/collabui/collabui/internal/care/verify"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/lines"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/test/kit/testrun"
	"github.com/collabui/collabui/workers/catalog"
)

func quiet(int, int) {}

func TestACopiedRunEndsWithTheSameDigestElsewhere(t *testing.T) {
	t.Parallel()
	r, end := testrun.Finished(t)
	run := runs.Run("small")
	r.Bucket.Damage(run.End().Key, nil)
	r.Bucket.Damage(run.Epoch(2).Key, nil) // the last epoch is not committed yet

	backup := store.Backup{Files: store.Files{Dir: filepath.Join(t.TempDir(), "b")}}
	other := testrun.New(t, r.Spec)
	target := other.Bucket
	target.Damage(run.Spec().Key, nil)
	for _, way := range []struct{ from, to store.Bucket }{{r.Bucket, backup}, {backup, target}} {
		for writes, cut := 100, true; cut; writes += 400 {
			to := &testrun.Brittle{Bucket: way.to, Left: writes}
			_, err := transfer.Runs(t.Context(), way.from, to, []string{"small"}, quiet)
			cut = err != nil
			if is, found := run.Spec().Exists(t.Context(), way.to); found != nil || is == cut {
				t.Fatalf("after %d writes the run exists: %v, %v; want it to exist when it is whole", writes, is, found)
			}
		}
		again, err := transfer.Runs(t.Context(), way.from, way.to, []string{"small"}, quiet)
		if err != nil || again.Written != 0 || again.Objects < 400 {
			t.Errorf("copied again: %+v, %v; want nothing written", again, err)
		}
	}

	got, err := other.Play(t, nil)
	if err != nil || got.FinalDigest != end.FinalDigest || other.Suite.Episodes > 0 {
		t.Errorf("the copy ended with %s after %d more episodes, %v; want %s without any",
			got.FinalDigest, other.Suite.Episodes, err, end.FinalDigest)
	}
	report, err := verify.FsckRun(t.Context(), target, "small")
	if err != nil || len(report.Problems) > 0 {
		t.Errorf("fsck of the copy: %v, %v; want no problems", report.Problems, err)
	}
}

func TestACopyTakesTheFilesOfAPolicy(t *testing.T) {
	t.Parallel()
	from, to := &store.Memory{}, &store.Memory{}
	weights, err := store.PutBlob(t.Context(), from, []byte("weights"))
	if err != nil {
		t.Fatal(err)
	}
	artifact, digest := domain.Artifact{
		Kind: domain.ArtifactLoRA, Rank: 8, Files: []domain.ArtifactFile{
			{Path: "adapter.safetensors", Key: weights.Key, SHA256: weights.SHA256, Size: weights.Size},
		},
	}.Encode()
	if _, err := store.PutBlob(t.Context(), from, artifact); err != nil {
		t.Fatal(err)
	}
	s := spec.Default()
	s.Name, s.FineTune.Base = "r", digest
	given := func() (spec.Spec, error) { return s, nil }
	if _, _, err := runs.Run("r").Spec().Record(t.Context(), from, given); err != nil {
		t.Fatal(err)
	}

	report, err := verify.Fsck(t.Context(), from)
	if err != nil || len(report.Unreferenced) > 0 || len(report.Problems) > 0 {
		t.Errorf("fsck = %+v, %v; want every object referenced", report, err)
	}
	if _, err := transfer.Runs(t.Context(), from, to, []string{"r"}, quiet); err != nil {
		t.Fatal(err)
	}
	if _, err := store.GetBlob(t.Context(), to, weights.SHA256); err != nil {
		t.Errorf("the weights of the copied policy: %v, want them copied", err)
	}
	from.Damage(weights.Key, nil)
	if report, err = verify.FsckRun(t.Context(), from, "r"); err != nil || len(report.Problems) != 1 {
		t.Errorf("fsck without the weights = %+v, %v; want one problem", report, err)
	}
}

func TestABackupHasLinesAndDataThatNoRunUses(t *testing.T) {
	t.Parallel()
	r, _ := testrun.Finished(t)
	imported, err := store.PutBlob(t.Context(), r.Bucket, []byte("imported"))
	if err != nil {
		t.Fatal(err)
	}
	const mobile = lines.Line("mobile")
	system, err := lines.Find(t.Context(), r.Bucket, "small", -1)
	if err != nil {
		t.Fatal(err)
	}
	e := lines.Entry{Verb: lines.Promote, System: system, Who: "ann"}
	if _, err := mobile.Append(t.Context(), r.Bucket, 0, e); err != nil {
		t.Fatal(err)
	}

	to := &store.Memory{}
	report, err := transfer.All(t.Context(), r.Bucket, to, quiet)
	if err != nil || report.Written != report.Objects {
		t.Fatalf("All = %+v, %v; want everything written", report, err)
	}
	if _, err := store.GetBlob(t.Context(), to, imported.SHA256); err != nil {
		t.Errorf("data that no run uses: %v, want them copied", err)
	}
	if got, err := mobile.Current(t.Context(), to); err != nil || got.System.Epoch != system.Epoch {
		t.Errorf("the copied line accepts %+v, %v; want %s", got, err, system)
	}
	fsck, err := verify.Fsck(t.Context(), to)
	if err != nil || len(fsck.Problems) > 0 {
		t.Errorf("fsck of the backup: %v, %v; want no problems", fsck.Problems, err)
	}
}

func TestACopyNeverMixesTwoRuns(t *testing.T) {
	t.Parallel()
	r, _ := testrun.Finished(t)
	to := &store.Memory{}
	s := r.Spec
	s.Seed++
	given := func() (spec.Spec, error) { return s, nil }
	if _, _, err := runs.Run("small").Spec().Record(t.Context(), to, given); err != nil {
		t.Fatal(err)
	}
	_, err := transfer.Runs(t.Context(), r.Bucket, to, []string{"small"}, quiet)
	if fault.KindOf(err) != fault.Invalid {
		t.Errorf("a copy onto another run = %v, want an invalid fault", err)
	}
	if objects, err := to.List(t.Context(), ""); err != nil || len(objects) != 1 {
		t.Errorf("the other run has %d objects, %v; want its specification alone", len(objects), err)
	}
	_, err = transfer.Runs(t.Context(), r.Bucket, to, []string{"none"}, quiet)
	if !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a copy of a missing run = %v, want %v", err, store.ErrNotFound)
	}
}

// TestACopyOfAForkWritesNothingIntoAnotherRun covers a fork that refers to objects of the run that it was made from,
// whose name may belong to another run elsewhere.
func TestACopyOfAForkWritesNothingIntoAnotherRun(t *testing.T) {
	t.Parallel()
	r, _ := testrun.Finished(t)
	f, err := fork.Plan(t.Context(), r.Bucket, fork.Request{
		Run: "small", Name: "other", Epoch: 1, Who: "ann", At: time.Now(),
		Typed: map[string]string{"train.beta": "0.3"},
	}, spec.Source{}, catalog.All{})
	if err == nil {
		err = f.Make(t.Context(), r.Bucket, func(int) {})
	}
	if err != nil {
		t.Fatal(err)
	}

	to := &store.Memory{}
	s := r.Spec
	s.Seed++
	if _, _, _, err := runs.Run("small").Spec().Write(t.Context(), to, s); err != nil {
		t.Fatal(err)
	}
	_, err = transfer.Runs(t.Context(), r.Bucket, to, []string{"other"}, quiet)
	if fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), "runs/small/spec.json") {
		t.Errorf("a copy of the fork = %v, want an invalid fault that names the run there", err)
	}
	listed, err := to.List(t.Context(), runs.Run("small").Prefix())
	if err != nil || len(listed) != 1 {
		t.Errorf("the run there has %d objects, %v; want its specification alone", len(listed), err)
	}
	if exists, err := runs.Run("other").Spec().Exists(t.Context(), to); err != nil || exists {
		t.Errorf("the fork exists there: %v, %v; want it not to", exists, err)
	}

	archive := &store.Memory{} // it has the objects that the fork refers to, but not the original itself
	if _, err := transfer.Runs(t.Context(), r.Bucket, archive, []string{"other"}, quiet); err != nil {
		t.Fatal(err)
	}
	if _, err := transfer.Runs(t.Context(), archive, r.Bucket, []string{"other"}, quiet); err != nil {
		t.Errorf("the way back = %v, want nothing refused that is the same there", err)
	}
}

// TestABackupGoesOnWithoutARunWhoseNameIsTaken covers a name that became free and now belongs to another run, which
// must not end the backups of all others.
func TestABackupGoesOnWithoutARunWhoseNameIsTaken(t *testing.T) {
	t.Parallel()
	r, _ := testrun.Finished(t)
	record := func(b store.Bucket, name string, seed uint64) {
		s := r.Spec
		s.Name, s.Seed = name, seed
		given := func() (spec.Spec, error) { return s, nil }
		if _, _, err := runs.Run(name).Spec().Record(t.Context(), b, given); err != nil {
			t.Fatal(err)
		}
	}
	to := &store.Memory{}
	record(to, "again", 1)
	record(r.Bucket, "again", 2)
	report, err := transfer.All(t.Context(), r.Bucket, to, quiet)
	if fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), "runs/again/spec.json") {
		t.Errorf("All = %v, want an invalid fault that names the run", err)
	}
	if exists, err := runs.Run("small").End().Exists(t.Context(), to); err != nil || !exists || len(report.Runs) != 1 {
		t.Errorf("the other run is there: %v, %v (%v); want it copied", exists, err, report.Runs)
	}
	if s, _, err := runs.Run("again").Spec().Must(t.Context(), to); err != nil || s.Seed != 1 {
		t.Errorf("the seed of the run that was there is %d, %v; want it left alone", s.Seed, err)
	}
}

// TestACopyGoesOnWithoutWhatWasRetired removes a policy of epoch 1 as a retention policy does.
func TestACopyGoesOnWithoutWhatWasRetired(t *testing.T) {
	t.Parallel()
	r, _ := testrun.Finished(t)
	e, _, err := runs.Run("small").Epoch(1).Must(t.Context(), r.Bucket)
	if err != nil {
		t.Fatal(err)
	}
	policy, to := e.System.Policies[0].Digest, &store.Memory{}
	r.Bucket.Damage(store.BlobPrefix+policy, nil)
	copyAll := func() error {
		_, err := transfer.Runs(t.Context(), r.Bucket, to, []string{"small"}, quiet)

		return err
	}
	if err := copyAll(); !errors.Is(err, store.ErrAbsent) {
		t.Errorf("a copy without a policy = %v, want %v", err, store.ErrAbsent)
	}
	retire := func() (runs.Retirement, error) { return runs.Retirement{Who: "ann", Blobs: []string{policy}}, nil }
	if _, _, err := runs.RetirementAt(time.Unix(0, 0)).Record(t.Context(), r.Bucket, retire); err != nil {
		t.Fatal(err)
	}
	if err := copyAll(); err != nil {
		t.Errorf("a copy without a retired policy = %v, want none", err)
	}
	report, err := verify.FsckRun(t.Context(), to, "small")
	if err != nil || len(report.Problems) > 0 || report.Retired != 1 {
		t.Errorf("fsck of the copy: %v, %d retired, %v; want no problems and one", report.Problems, report.Retired, err)
	}
}

// collected is a bucket in which gc removes an object after it was listed and before it is read.
type collected struct {
	store.Bucket
	key string
}

func (c collected) Get(ctx context.Context, key string) ([]byte, error) {
	if key == c.key {
		return nil, fmt.Errorf("%s: %w", key, store.ErrNotFound)
	}

	return c.Bucket.Get(ctx, key)
}

func TestABackupGoesOnBesideGC(t *testing.T) {
	t.Parallel()
	r, _ := testrun.Finished(t)
	unused, err := store.PutBlob(t.Context(), r.Bucket, []byte("of no run"))
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{unused.Key, runs.Run("small").Epoch(1).Key} {
		to := &store.Memory{}
		if _, err := transfer.All(t.Context(), collected{r.Bucket, key}, to, quiet); err != nil {
			t.Errorf("a backup while %s is removed = %v, want none", key, err)
		}
		if exists, err := runs.Run("small").Spec().Exists(t.Context(), to); err != nil || !exists {
			t.Errorf("without %s: the run is there: %v, %v; want it copied", key, exists, err)
		}
	}
}
