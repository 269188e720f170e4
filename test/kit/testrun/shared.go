package testrun

import (
	"sync"
	"testing"

	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
)

// shared is a run that is played once per process. Tests receive copies of the objects in its store.
type shared struct {
	spec   spec.Spec
	new    func(testing.TB, spec.Spec) *Run
	once   sync.Once
	end    runs.End
	bucket *store.Memory // nil until the run has ended without an error
}

func (s *shared) play(tb testing.TB) (runs.End, *store.Memory) {
	tb.Helper()
	s.once.Do(func() {
		run := s.new(tb, s.spec)
		end, err := run.Play(tb, nil)
		if err != nil {
			tb.Fatal(err)
		}
		s.end = end
		s.bucket = run.Bucket
	})
	if s.bucket == nil {
		tb.Fatal("the shared run ended with an error in another test, want its result")
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
func Finished(tb testing.TB) (*Run, runs.End) {
	tb.Helper()

	return finished.copied(tb)
}

// Learned is Finished with policies that have learned.
func Learned(tb testing.TB) (*Run, runs.End) {
	tb.Helper()

	return learned.copied(tb)
}

func (s *shared) copied(tb testing.TB) (*Run, runs.End) {
	tb.Helper()
	end, bucket := s.play(tb)
	run := s.new(tb, s.spec)
	copyTo(tb, run.Bucket, bucket, "")

	return run, end
}

// onlyStageOne returns stage 1 of Small.
func onlyStageOne() spec.Spec {
	specification := Small()
	specification.Epochs = 0
	specification.Evaluation.TestSeeds = 0
	specification.Evaluation.TestTemplates = 0

	return specification
}

// WithBase prepares a run that begins with the base policy of Small, for tests of everything after stage 1. The policy
// is made once per process.
func WithBase(tb testing.TB, specification spec.Spec) *Run {
	tb.Helper()

	return stageOne.continued(tb, specification)
}

// LearningWithBase is WithBase with policies that learn.
func LearningWithBase(tb testing.TB, specification spec.Spec) *Run {
	tb.Helper()

	return learnedOne.continued(tb, specification)
}

func (s *shared) continued(tb testing.TB, next spec.Spec) *Run {
	tb.Helper()
	_, bucket := s.play(tb)
	base, _, err := runs.Run(s.spec.Name).Base().Must(tb.Context(), bucket)
	if err != nil {
		tb.Fatal(err)
	}

	next.FineTune.Base = base.Policy.Digest
	run := s.new(tb, next)
	copyTo(tb, run.Bucket, bucket, store.BlobPrefix+base.Policy.Digest)

	return run
}

// copyTo copies the objects whose keys begin with a prefix from one store to another, which may have some already.
func copyTo(tb testing.TB, to, from *store.Memory, prefix string) {
	tb.Helper()
	refs, err := from.List(tb.Context(), prefix)
	if err != nil {
		tb.Fatal(err)
	}

	for _, ref := range refs {
		body, err := from.Get(tb.Context(), ref.Key)
		if err != nil {
			tb.Fatal(err)
		}
		if _, err := to.PutOnce(tb.Context(), ref.Key, body); err != nil {
			tb.Fatal(err)
		}
	}
}
