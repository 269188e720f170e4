//go:build integration

package chaos

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/collabui/collabui/test/kit/pipeline"
)

var (
	number = flag.Int("runs", 12, "number of runs")
	first  = flag.Uint64("seed", 1, "seed of the first run")
	wide   = flag.Int("cells", 3, "sets of processes that play concurrently")
)

func TestMain(m *testing.M) {
	pipeline.Main()
	flag.Parse()
	os.Exit(m.Run())
}

// tally counts the outcomes of the runs.
type tally struct {
	mu         sync.Mutex
	struck     map[FaultKind]int
	violations map[FaultKind]int
	kinds      []FaultKind
	places     []string
	digests    map[string]bool
	played     int
	longest    time.Duration
}

// TestRunsOnRealProcessesUnderFaults expects that every run ends with the digest of an undisturbed one and a sound
// store, regardless of the processes that are killed, frozen or cut off.
func TestRunsOnRealProcessesUnderFaults(t *testing.T) {
	sum := &tally{struck: map[FaultKind]int{}, violations: map[FaultKind]int{}, digests: map[string]bool{}}
	seeds := make(chan uint64, *number)
	for i := range *number {
		seeds <- *first + uint64(i)
	}
	close(seeds)
	began := time.Now()
	t.Run("cells", func(t *testing.T) {
		for i := range *wide {
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				t.Parallel()
				playCell(t, seeds, sum)
			})
		}
	})

	sum.print(time.Since(began))
	if len(sum.digests) != 1 {
		t.Errorf("undisturbed runs ended with %d digests, want one", len(sum.digests))
	}
	if len(sum.places) < minPlaces {
		t.Errorf("a run passes %d failpoints, want at least %d: %v", len(sum.places), minPlaces, sum.places)
	}
	if *number*perRun < 3*len(sum.kinds) {
		return // too few for every kind
	}
	for _, k := range sum.kinds {
		if sum.struck[k] == 0 {
			t.Errorf("%q struck 0 times, want at least one", k)
		}
	}
}

// minPlaces is the smallest number of failpoints that a run must pass.
const minPlaces = 50

// startCell starts a cell that ends with the test.
func startCell(ctx context.Context, t *testing.T) *Cell {
	t.Helper()
	local, err := filepath.Abs("../../bin/collabui-local")
	if err != nil {
		t.Fatal(err)
	}
	c, err := NewCell(ctx, t.TempDir(), local)
	if c != nil {
		t.Cleanup(c.Close)
	}
	if err != nil {
		t.Fatalf("start a cell: %v, want an undisturbed run", err)
	}

	return c
}

func playCell(t *testing.T, seeds <-chan uint64, sum *tally) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	c := startCell(ctx, t)
	sum.mu.Lock()
	sum.kinds, sum.places, sum.digests[c.Digest] = c.Kinds(), c.Places, true
	sum.mu.Unlock()

	for seed := range seeds {
		got, err := c.Play(ctx, seed)
		if err != nil {
			t.Fatalf("seed %d: got %v, want a run that is played", seed, err)
		}
		sum.add(got)
		for _, p := range got.Problems {
			t.Errorf("seed %d after %v (%v): got %s, want none; replay: make chaos RUNS=1 CELLS=1 SEED=%[1]d",
				seed, got.Took.Round(time.Second), got.Struck, p)
		}
		if testing.Verbose() {
			t.Logf("seed %d: %v, struck %v %s", seed, got.Took.Round(100*time.Millisecond), got.Struck, got.Waited)
		}
	}
}

func (s *tally) add(p Played) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.played++
	s.longest = max(s.longest, p.Took)
	for _, k := range p.Struck {
		s.struck[k]++
		if len(p.Problems) > 0 {
			s.violations[k]++
		}
	}
}

func (s *tally) print(took time.Duration) {
	fmt.Printf("\n%d runs in %v, the longest %v; %d failpoints\n\n",
		s.played, took.Round(time.Second), s.longest.Round(time.Second), len(s.places))
	fmt.Printf("| fault | times struck | violations |\n|---|---|---|\n")
	slices.SortFunc(s.kinds, func(a, b FaultKind) int { return strings.Compare(string(a), string(b)) })
	for _, k := range s.kinds {
		fmt.Printf("| %s | %d | %d |\n", k, s.struck[k], s.violations[k])
	}
}
