package simulation

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

var (
	number   = flag.Int("schedules", 100, "number of schedules to simulate")
	seed     = flag.Uint64("seed", 1, "seed of the first schedule")
	stop     = flag.Int("stop", 10, "number of violations after which a sweep ends")
	replayed = flag.String("faults", "", "faults of a schedule to replay, as AT:KIND,…")
)

// TestMain makes the garbage collector run less often, unless GOGC is set, because a schedule produces much garbage and
// keeps little.
func TestMain(m *testing.M) {
	flag.Parse()
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
	os.Exit(m.Run())
}

// sweep collects the findings of schedules.
type sweep struct {
	mu     sync.Mutex
	want   [2]Played // by the seed: see short
	struck map[FaultKind]int
	longer map[FaultKind]time.Duration // the longest simulated time of a run that the kind struck
	effect map[string]int
	failed int
}

// TestSchedules simulates runs under faults. Each must end with the digest of an undisturbed run and a sound store.
func TestSchedules(t *testing.T) {
	s := &sweep{struck: map[FaultKind]int{}, longer: map[FaultKind]time.Duration{}, effect: map[string]int{}}
	for i := range s.want {
		s.want[i] = Play(t, uint64(i), nil, false)
		if len(s.want[i].Problems) > 0 {
			t.Fatalf("the undisturbed run %d: %v, want no problems", i, s.want[i].Problems)
		}
	}
	if s.want[0].Digest == s.want[1].Digest {
		t.Fatalf("the digest is %s whether policies lag or not, want two", s.want[0].Digest)
	}
	began := time.Now()
	const shards = 2
	t.Run("shards", func(t *testing.T) {
		for shard := range shards {
			t.Run(strconv.Itoa(shard), func(t *testing.T) {
				t.Parallel()
				for i := shard; i < *number && !s.enough(); i += shards {
					s.play(t, *seed+uint64(i))
				}
			})
		}
	})

	t.Logf("%d schedules in %v, %d violations", *number, time.Since(began).Round(time.Second), s.failed)
	for _, k := range slices.Sorted(maps.Keys(s.struck)) {
		t.Logf("| %s | %d | %v |", k, s.struck[k], s.longer[k].Round(time.Second))
	}
	for _, what := range slices.Sorted(maps.Keys(s.effect)) {
		t.Logf("%s: %d", what, s.effect[what])
	}
	s.sometimes(t)
}

// sometimes checks that every kind of fault struck in a sweep and, in a large one, had each of its possible effects.
func (s *sweep) sometimes(t *testing.T) {
	if s.failed > 0 {
		return
	}
	for _, k := range Kinds {
		if drawn(k) && s.struck[k] == 0 && *number >= 100 {
			t.Errorf("the fault %q never struck, want it in every sweep", k)
		}
		for _, what := range brings[k] {
			if drawn(k) && *number >= large && s.effect[what] == 0 {
				t.Errorf("%q: it was never true that %s, want it in every sweep of %d schedules", k, what, large)
			}
		}
	}
}

// large is the number of schedules from which on all effects are expected.
const large = 1000

func (s *sweep) enough() bool {
	s.mu.Lock()
	defer s.mu.Unlock()

	return s.failed >= *stop
}

// play simulates one schedule.
func (s *sweep) play(t *testing.T, seed uint64) {
	want := s.want[seed%2]
	faults := Draw(seed, want.Points)
	p := Play(t, seed, faults, false)
	s.mu.Lock()
	for k, n := range p.Struck {
		s.struck[k] += n
		s.longer[k] = max(s.longer[k], p.Took)
	}
	for what, n := range p.Effects {
		s.effect[what] += n
	}
	s.mu.Unlock()

	why := want.violated(p)
	if why == "" {
		return
	}
	s.mu.Lock()
	s.failed++
	first := s.failed == 1
	s.mu.Unlock()
	if first {
		faults = shrink(t, want, seed, faults)
	}
	t.Errorf("seed %d: %s, want a sound run\n"+
		"replay: go test ./test/simulation -run TestReplay -v -args -seed %[1]d -faults '%[3]s'",
		seed, why, written(faults))
}

// violated describes what is wrong with a run, compared with the undisturbed one, or returns "".
func (p Played) violated(got Played) string {
	if len(got.Problems) > 0 {
		return strings.Join(got.Problems[:min(3, len(got.Problems))], "; ")
	}
	if got.Digest != p.Digest && got.Effects[varied] == 0 {
		return fmt.Sprintf("the digest is %s, want %s", got.Digest, p.Digest)
	}

	return ""
}

// shrink returns the faults without the ones that a violation does not need.
func shrink(t *testing.T, want Played, seed uint64, faults []Fault) []Fault {
	for i := 0; i < len(faults); {
		less := slices.Delete(slices.Clone(faults), i, i+1)
		if want.violated(Play(t, seed, less, false)) != "" {
			faults = less
		} else {
			i++
		}
	}

	return faults
}

func written(faults []Fault) string {
	var out []string
	for _, f := range faults {
		out = append(out, f.String())
	}

	return strings.Join(out, ",")
}

// TestReplay simulates one schedule, by its seed and faults, and prints its trace.
func TestReplay(t *testing.T) {
	if *replayed == "" {
		t.Skip("nothing to replay: -args -seed N -faults 'AT:KIND,…'")
	}
	var faults []Fault
	for _, f := range strings.Split(*replayed, ",") {
		at, kind, _ := strings.Cut(f, ":")
		n, err := strconv.Atoi(at)
		if err != nil || !slices.Contains(Kinds, FaultKind(kind)) {
			t.Fatalf("-faults has %q, want AT:KIND with a kind of %v", f, Kinds)
		}
		faults = append(faults, Fault{At: n, Kind: FaultKind(kind)})
	}
	want, got := Play(t, *seed%2, nil, false), Play(t, *seed, faults, true)
	t.Log(got.Trace)
	if why := want.violated(got); why != "" {
		t.Errorf("the run: %s, want a sound one", why)
	}
}

// TestEqualSeedsGiveEqualTraces compares traces byte for byte.
func TestEqualSeedsGiveEqualTraces(t *testing.T) {
	t.Parallel()
	for seed := uint64(1); seed <= 10; seed++ {
		faults := Draw(seed, 1000)
		a, b := Play(t, seed, faults, true), Play(t, seed, faults, true)
		if a.Trace != b.Trace {
			at := 0
			for at < min(len(a.Trace), len(b.Trace)) && a.Trace[at] == b.Trace[at] {
				at++
			}
			t.Errorf("seed %d: the traces differ after %d bytes:\n%.300s\nwant\n%.300s",
				seed, at, b.Trace[max(0, at-100):], a.Trace[max(0, at-100):])
		}
	}
}
