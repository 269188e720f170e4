//go:build integration

package integration

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
)

// clockStep is how far file times may lag behind the clock: up to a kernel tick.
const clockStep = 20 * time.Millisecond

// noCallTwice checks that no model call was made after its answer was recorded. It compares the recorded calls with
// the policy server's own log of calls.
func (m *machine) noCallTwice() { m.t.Helper(); m.noCallTwiceAfter(0) }

// noCallTwiceAfter is noCallTwice after kills of the policy server. Each kill may lose the log of one object's calls,
// because the server answers before it writes.
func (m *machine) noCallTwiceAfter(kills int) {
	m.t.Helper()
	times, requests := m.calls()
	checked, again := 0, 0
	unlogged := map[string]bool{}
	for path, calls := range m.recordedCalls() {
		info, err := os.Stat(path)
		if err != nil {
			m.t.Fatal(err)
		}
		for _, seed := range calls {
			checked++
			at := times[seed&(1<<53-1)]
			if len(at) == 0 {
				unlogged[path] = true
				continue
			}
			late := time.Unix(0, slices.Max(at)).Sub(info.ModTime())
			if len(at) > 1 && late > clockStep {
				spread := time.Duration(slices.Max(at) - slices.Min(at))
				m.t.Logf("asked %d times over %v, the last time %v after it was recorded", len(at), spread, late)
				again++
			}
		}
	}

	if len(unlogged) > kills {
		m.t.Errorf("calls of %d objects are not in the server's log, want all there but those of %d: %v",
			len(unlogged), kills, unlogged)
	}
	if again > 0 {
		m.t.Errorf("%d of %d recorded calls were made again, want none", again, checked)
	}

	if checked == 0 {
		m.t.Errorf("no recorded call was found, want some")
	}

	m.t.Logf("%d recorded calls, %d made again; %d requests in all", checked, again, requests)
}

// calls reads the policy server's log: by the seed of a call, the times at which it was requested, in nanoseconds, and
// the number of requests.
func (m *machine) calls() (map[uint64][]int64, int) {
	m.t.Helper()
	f, err := os.Open(m.file("calls.log"))
	if err != nil {
		m.t.Fatal(err)
	}
	defer f.Close()

	calls, lines := map[uint64][]int64{}, 0
	for sc := bufio.NewScanner(f); sc.Scan(); lines++ {
		var at int64
		var seed uint64
		if _, err := fmt.Sscan(sc.Text(), &at, &seed); err == nil {
			calls[seed] = append(calls[seed], at)
		}
	}

	return calls, lines
}

// recordedCalls returns the seeds of the calls that each object of an episode records.
func (m *machine) recordedCalls() map[string][]uint64 {
	m.t.Helper()
	out := map[string][]uint64{}
	for _, p := range m.objects("/episodes/") {
		switch {
		case strings.Contains(p, "/steps/"):
			var st runs.Step
			unseal(m.t, p, &st)
			slot, number := m.slotOf(p)
			for _, c := range st.Decision.Cells {
				seed := domain.Seed(domain.Seed(slot.Seed, "step", number), "cell", c.Agent, c.Round)
				out[p] = append(out[p], seed)
			}
		case strings.HasSuffix(p, "/pairs.json"):
			var ps runs.Pairs
			unseal(m.t, p, &ps)
			for _, c := range ps.Calls {
				out[p] = append(out[p], c.Seed)
			}
		}
	}

	return out
}

// slotOf reads the slot of a step from its attempt, and the step's number from its name.
func (m *machine) slotOf(step string) (domain.Slot, int) {
	m.t.Helper()
	var s runs.Start
	unseal(m.t, filepath.Join(filepath.Dir(filepath.Dir(step)), "start.json"), &s)
	n, err := strconv.Atoi(strings.TrimSuffix(filepath.Base(step), ".json"))
	if err != nil {
		m.t.Fatal(err)
	}

	return s.Slot, n
}

// unseal reads an object from its file.
func unseal(t *testing.T, path string, v any) {
	t.Helper()
	raw, err := os.ReadFile(path)
	var body []byte
	if err == nil {
		body, err = store.Unseal(path, raw)
	}

	if err == nil {
		err = json.Unmarshal(body, v)
	}

	if err != nil {
		t.Fatal(err)
	}
}
