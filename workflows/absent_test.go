package workflows_test

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/test/kit/fakepolicy"
	"github.com/collabui/collabui/test/kit/testrun"
	"github.com/collabui/collabui/trainer"
	"github.com/collabui/collabui/workers/catalog"
)

var everyRead = flag.Bool("every-read", false, "deny every read of a run once, each in a run of its own (an hour)")

// deciding matches the kinds of objects whose absence could be taken for a fact about the run.
var deciding = regexp.MustCompile(
	`^(spec|base|changes/N|epochs/N/(made|epoch|dataset|agents/N/dataset|rows/.*)|evals/.*val.*|.*/without/.*)\.json$`)

// late is a store that does not show an object to one read, as one that has just failed over.
type late struct {
	store.Bucket
	deny int // the read, from 1 of those that find an object; 0: none

	mu    sync.Mutex
	reads []string // keys of those reads
}

func (l *late) Get(ctx context.Context, key string) ([]byte, error) {
	raw, err := l.Bucket.Get(ctx, key)
	if err != nil {
		return raw, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.reads = append(l.reads, key); len(l.reads) == l.deny {
		return nil, fmt.Errorf("%s: %w", key, store.ErrNotFound)
	}

	return raw, nil
}

// changed returns a run of two epochs that are rolled back, because no system is better on val than the base. A person
// has changed how the agents are trained, and left a row of the first epoch's data set out.
func changed(t *testing.T) *testrun.Run {
	t.Helper()
	r := unbeatable(t, func(s *spec.Spec) { s.Slots, s.Evaluation.Val, s.Evaluation.Every = 3, 2, 1 })
	typed := map[string]string{"train.beta": "0.4"}
	change := runs.Change{Who: "ann", Why: "a test"}
	run := runs.Run(r.Spec.Name)
	if _, _, err := run.Set(t.Context(), r.Bucket, change, typed, spec.Source{}, catalog.All{}); err != nil {
		t.Fatal(err)
	}
	row := func() (runs.RowOut, error) { return runs.RowOut{Row: 2}, nil }
	if _, _, err := run.RowOut(1, 1, 1).Record(t.Context(), r.Bucket, row); err != nil {
		t.Fatal(err)
	}

	return r
}

// numbers matches what two objects of a kind differ in.
var numbers = regexp.MustCompile(`\d+|[0-9a-f]{64}`)

// TestOneReadThatFindsNothingChangesNothing plays a run once for every kind of object whose absence could decide
// something, or for every read.
// The store denies one object to one read. Whatever that read was for, the run ends as if nothing had happened.
func TestOneReadThatFindsNothingChangesNothing(t *testing.T) {
	t.Parallel()
	playLate := func(t *testing.T, deny int) (runs.End, *late) {
		r := changed(t)
		l := &late{Bucket: r.Bucket, deny: deny}
		r.Deps.Bucket = l
		r.Deps.Trainers = map[string]trainer.Trainer{spec.Embedded: fakepolicy.Trainer{Bucket: l}}

		return play(t, r), l
	}
	want, undisturbed := playLate(t, 0)
	if want.Best != 0 {
		t.Fatalf("the best epoch is %d, want all to be rolled back", want.Best)
	}

	kinds := map[string][]int{}
	for i, key := range undisturbed.reads {
		kind := strings.TrimPrefix(numbers.ReplaceAllString(key, "N"), "runs/small/")
		kinds[kind] = append(kinds[kind], i+1)
	}
	random := rand.New(rand.NewPCG(1, 2))
	var denied []int
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		reads := kinds[kind]
		if !*everyRead {
			if !deciding.MatchString(kind) {
				continue
			}
			reads = []int{reads[random.IntN(len(reads))]}
		}
		denied = append(denied, reads...)
	}
	if len(denied) < 8 {
		t.Errorf("%d reads are denied, want at least 8", len(denied))
	}
	t.Logf("%d reads of %d kinds; %d are denied", len(undisturbed.reads), len(kinds), len(denied))
	for _, n := range denied {
		t.Run(fmt.Sprintf("%04d", n), func(t *testing.T) {
			t.Parallel()
			got, l := playLate(t, n)
			if got.FinalDigest != want.FinalDigest || got.Best != want.Best {
				t.Errorf("without %s once, the run ended with %+v, want %+v", l.reads[n-1], got, want)
			}
		})
	}
}
