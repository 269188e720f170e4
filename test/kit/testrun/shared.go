package testrun

import (
	"sync"
	"testing"

	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/store/runs"
)

// shared is a run that is played once per process. Tests receive copies of the objects in its store.
type shared struct {
	spec   spec.Spec
	new    func(testing.TB, spec.Spec) *Run
	once   sync.Once
	end    runs.End
	bucket *store.Memory // nil until the run has ended without an error
}

func (s *shared) play(t testing.TB) (runs.End, *store.Memory) {
	t.Helper()
	s.once.Do(func() {
		r := s.new(t, s.spec)
		end, err := r.Play(t, nil)
		if err != nil {
			t.Fatal(err)
		}
		s.end = end
		s.bucket = r.Bucket
	})
	if s.bucket == nil {
		t.Fatal("the shared run ended with an error in another test, want its result")
	}

	return s.end, s.bucket
}

var (
	finished   = shared{spec: Small(), new: New}
	learned    = shared{spec: Small(), new: Learning}
	stageOne   = shared{spec: onlyStageOne(), new: New}
	learnedOne = shared{spec: onlyStageOne(), new: Learning}
)

// Finished returns a run of Small that has ended, and its end. The run is played once per process, and every caller
// receives a copy of its store, with an environment that has not been played.
func Finished(t testing.TB) (*Run, runs.End) {
	t.Helper()

	return finished.copied(t)
}

// Learned is Finished with policies that have learned.
func Learned(t testing.TB) (*Run, runs.End) {
	t.Helper()

	return learned.copied(t)
}

func (s *shared) copied(t testing.TB) (*Run, runs.End) {
	t.Helper()
	end, bucket := s.play(t)
	r := s.new(t, s.spec)
	copyTo(t, r.Bucket, bucket, "")

	return r, end
}

// onlyStageOne returns stage 1 of Small.
func onlyStageOne() spec.Spec {
	s := Small()
	s.Epochs = 0
	s.Evaluation.TestSeeds = 0
	s.Evaluation.TestTemplates = 0

	return s
}

// WithBase prepares a run that begins with the base policy of Small, for tests of what follows stage 1. The policy is
// made once per process.
func WithBase(t testing.TB, s spec.Spec) *Run {
	t.Helper()

	return stageOne.continued(t, s)
}

// LearningWithBase is WithBase with policies that learn.
func LearningWithBase(t testing.TB, s spec.Spec) *Run {
	t.Helper()

	return learnedOne.continued(t, s)
}

func (s *shared) continued(t testing.TB, next spec.Spec) *Run {
	t.Helper()
	_, bucket := s.play(t)
	base, _, err := runs.Run(s.spec.Name).Base().Must(t.Context(), bucket)
	if err != nil {
		t.Fatal(err)
	}

	next.FineTune.Base = base.Policy.Digest
	r := s.new(t, next)
	copyTo(t, r.Bucket, bucket, store.BlobPrefix+base.Policy.Digest)

	return r
}

// copyTo copies the objects whose keys begin with a prefix from one store to another, which may have some already.
func copyTo(t testing.TB, to, from *store.Memory, prefix string) {
	t.Helper()
	refs, err := from.List(t.Context(), prefix)
	if err != nil {
		t.Fatal(err)
	}

	for _, ref := range refs {
		body, err := from.Get(t.Context(), ref.Key)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := to.PutOnce(t.Context(), ref.Key, body); err != nil {
			t.Fatal(err)
		}
	}
}
