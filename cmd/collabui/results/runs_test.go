package results

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/collabui/collabui/cmd/collabui/app"
	"github.com/collabui/collabui/internal/config"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
)

// countedReads counts the reads of objects by their keys.
type countedReads struct {
	*store.Memory
	mu    sync.Mutex
	reads map[string]int
}

func (c *countedReads) Get(ctx context.Context, key string) ([]byte, error) {
	c.mu.Lock()
	c.reads[key]++
	c.mu.Unlock()

	return c.Memory.Get(ctx, key)
}

// silentServer returns the address of a server that accepts connections and never answers, and counts them.
func silentServer(t *testing.T) (address string, accepted *atomic.Int64) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	accepted = &atomic.Int64{}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			accepted.Add(1)
			context.AfterFunc(t.Context(), func() { _ = c.Close() })
		}
	}()

	return l.Addr().String(), accepted
}

// TestRunsWaitsForTemporalOnce lists runs that have not finished while Temporal does not answer.
func TestRunsWaitsForTemporalOnce(t *testing.T) {
	b := &countedReads{Memory: &store.Memory{}, reads: map[string]int{}}
	const all, epochs = 10, 3
	for i := range all {
		s := spec.Default()
		s.Name = fmt.Sprint("r", i)
		run := runs.Run(s.Name)
		write(t, b, run.Spec(), s)
		for epoch := 1; epoch <= epochs; epoch++ {
			write(t, b, run.Epoch(epoch), runs.Epoch{Number: epoch})
		}
	}
	address, accepted := silentServer(t)
	var out bytes.Buffer
	a := &app.App{Out: &out, Err: &out}
	if err := listRuns(t.Context(), a, b, config.Endpoints{Temporal: address}, true); err != nil {
		t.Fatal(err)
	}

	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	const heading = "run state stage epochs began (UTC) size calls cost labels"
	if got := strings.Join(strings.Fields(lines[0]), " "); got != heading {
		t.Errorf("the first line is %q, want the heading %q", got, heading)
	}
	lines = lines[1:]
	for i, line := range lines {
		if len(lines) != all || !strings.HasPrefix(line, fmt.Sprint("r", i)) || !strings.Contains(line, "unknown") {
			t.Errorf("line %d of %d is %q, want that the state of r%[1]d is unknown", i, len(lines), line)
		}
	}
	if n := accepted.Load(); n != 1 {
		t.Errorf("Temporal got %d connections, want 1", n)
	}
	for i := range all {
		for epoch := 1; epoch <= epochs; epoch++ {
			if key := runs.Run(fmt.Sprint("r", i)).Epoch(epoch).Key; b.reads[key] != 1 {
				t.Errorf("%s was read %d times, want once", key, b.reads[key])
			}
		}
	}
}

// write writes an object, and reads nothing.
func write[T any](t *testing.T, b store.Bucket, o runs.Object[T], v T) {
	t.Helper()
	if _, _, _, err := o.Write(t.Context(), b, v); err != nil {
		t.Fatal(err)
	}
}
