package simulation

import (
	"flag"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"go.temporal.io/sdk/client"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/care/collect"
	"github.com/collabui/collabui/internal/care/transfer"
	"github.com/collabui/collabui/internal/method/retrain"
	"github.com/collabui/collabui/internal/records/lines"
	"github.com/collabui/collabui/internal/records/schedules"
	"github.com/collabui/collabui/workflows"
)

var year = flag.Int("nights", 0, "simulate so many nights of a schedule that trains every night (365: some minutes)")

// The interval in nights at which workers are upgraded, and at which the store is copied, and the night in which the
// store is lost and restored from its copy.
const upgradeEvery, copyEvery, lostAt = 30, 7, 200

// night is the cost of a night. lists, gets and puts count the requests of its firing, the others the requests of gc
// and of copies.
type night struct {
	objects, bytes     int // in the store after it
	activities         int
	lists, gets, puts  int
	careLists, careAll int
}

// TestAYearOfNights trains, judges and promotes a system every night, collects garbage every night, copies the store
// every week, upgrades the workers every month, and loses the store once. No firing may be lost or take place twice,
// and no cost of a night may grow faster than the nights.
func TestAYearOfNights(t *testing.T) {
	if *year == 0 {
		t.Skip("it takes minutes: -args -nights 365")
	}
	server := miniredis.RunT(t)
	bubble(t, func(t *testing.T) {
		w := newWorld(t, short(0, "sim"), server, newScheduler(0, nil, false), nil)
		defer w.stop()
		defer func() { _ = w.redis.Close() }()
		go w.run()
		if _, err := w.play("sim"); err != nil {
			t.Fatal(err)
		}
		w.schedule(t)

		var nights []night
		for n := 1; n <= *year && !t.Failed(); n++ {
			nights = append(nights, w.night(t, n))
		}
		write(t, nights)
		w.account(t)
		straight(t, nights)
	})
}

// schedule makes a line accept the run, and creates the schedule.
func (w *world) schedule(t *testing.T) {
	t.Helper()
	system, err := lines.Find(t.Context(), w.bucket, "sim", -1)
	if err == nil {
		_, err = lines.Line("main").Append(t.Context(), w.bucket, 0, lines.Entry{
			Verb: lines.Promote, System: system, Who: who, Why: "the first", At: time.Now().UTC(),
		})
	}
	s := retrain.Default()
	s.Name, s.Line, s.Environment, s.When.Every, s.Train.Epochs = "nightly", "main", "webtasks", "24h", 1
	s.Gate.Episodes, s.Gate.Tolerance = 20, 1
	if err == nil {
		_, err = schedules.Append(t.Context(), w.bucket, schedules.Version{Schedule: s, Who: who})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// night plays a night: new tasks, the firing, gc, and everything that is due.
func (w *world) night(t *testing.T, n int) (out night) {
	t.Helper()
	began := time.Now()
	e, err := lines.Line("main").Current(t.Context(), w.bucket)
	if err != nil {
		t.Fatal(err)
	}
	old := e.System.Digests()
	w.learned = func(policy string) bool { return !slices.Contains(old, policy) }
	w.more = append(w.more, fmt.Sprintf("t%03d", n))
	w.crew = nil // new workers open the environment again
	if n%upgradeEvery == 0 {
		w.build++
	}
	w.s3.requests = map[string]int{}
	if o, err := w.fire(t); err != nil || o.Verb != string(lines.Promote) {
		t.Errorf("night %d: got %+v, %v; want a promotion", n, o, err)
	}
	out.activities = len(w.present.results)
	out.lists, out.gets, out.puts = w.s3.requests["LIST"], w.s3.requests[http.MethodGet], w.s3.requests[http.MethodPut]

	w.s3.requests = map[string]int{}
	p := collect.Policy{Grace: grace, Who: who}
	if _, err := collect.Collect(t.Context(), w.bucket, p, false, quiet); err != nil {
		t.Errorf("gc of night %d: got %v, want no error", n, err)
	}
	if n%copyEvery == 0 || n == lostAt {
		w.copyAll(t, n == lostAt)
	}
	out.careLists = w.s3.requests["LIST"]
	for _, requests := range w.s3.requests {
		out.careAll += requests
	}
	for _, o := range w.s3.disk.list("", 0) {
		out.objects++
		out.bytes += len(o.body)
	}
	time.Sleep(time.Until(began.Add(24 * time.Hour)))

	return out
}

// fire plays a firing of the schedule.
func (w *world) fire(t *testing.T) (o schedules.Outcome, err error) {
	t.Helper()
	env := w.begin(from(workflows.RunInput{}, nil))
	env.SetStartWorkflowOptions(client.StartWorkflowOptions{
		ID:        workflows.RetrainID("nightly") + "-" + time.Now().UTC().Format(time.RFC3339),
		TaskQueue: workflows.QueueControl,
	})
	env.ExecuteWorkflow(workflows.Retrain, workflows.RetrainInput{Schedule: "nightly", Version: 1})
	close(w.clock)
	if err = env.GetWorkflowError(); err == nil {
		err = env.GetWorkflowResult(&o)
	}

	return o, err
}

// copyAll copies the whole store. If the store is lost, it is restored from the copy.
func (w *world) copyAll(t *testing.T, lost bool) {
	t.Helper()
	to, err := w.second.open()
	if err == nil {
		_, err = transfer.All(t.Context(), w.bucket, to, quiet)
	}
	if err == nil && lost {
		w.s3.disk.mu.Lock()
		w.s3.disk.objects = nil
		w.s3.disk.mu.Unlock()
		_, err = transfer.All(t.Context(), to, w.bucket, quiet)
	}
	if err != nil {
		t.Errorf("copy the store: got %v (%s), want no error", err, fault.KindOf(err))
	}
}

// account checks that every night has one outcome and one entry of the line, and that the store is sound.
func (w *world) account(t *testing.T) {
	t.Helper()
	outcomes, err := schedules.Schedule("nightly").Outcomes(t.Context(), w.bucket)
	if err != nil || len(outcomes) != *year {
		t.Errorf("got %d outcomes, %v; want %d", len(outcomes), err, *year)
	}
	entries, err := lines.Line("main").History(t.Context(), w.bucket, 0)
	if err != nil || len(entries) != *year+1 {
		t.Errorf("got %d entries of the line, %v; want %d", len(entries), err, *year+1)
	}
	seen := map[string]bool{}
	for _, e := range entries {
		if seen[e.System.Run] {
			t.Errorf("entry %d accepts a system of %s again, want every firing once", e.Number, e.System.Run)
		}
		seen[e.System.Run] = true
	}
	if problems := fsck(t.Context(), w.s3.disk.copied(t.Context())); len(problems) > 0 {
		t.Errorf("got %v, want a sound store", problems[:min(3, len(problems))])
	}
}

// write writes the nights as a table.
func write(t *testing.T, nights []night) {
	t.Helper()
	var b strings.Builder
	b.WriteString("night,objects,bytes,activities,lists,gets,puts,care lists,care requests\n")
	for i, n := range nights {
		fmt.Fprintf(&b, "%d,%d,%d,%d,%d,%d,%d,%d,%d\n", i+1, n.objects, n.bytes, n.activities, n.lists, n.gets, n.puts,
			n.careLists, n.careAll)
	}
	if file := os.Getenv("COLLABUI_NIGHTS"); file != "" {
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Error(err)
		}
	}
	t.Log("\n" + b.String())
}

// bend is the factor by which the second half of the nights may grow faster than the first.
const bend = 1.1

// straight checks that no curve bends upward: the second half of the nights adds no more than the first half.
func straight(t *testing.T, nights []night) {
	t.Helper()
	for name, of := range map[string]func(night) int{
		"objects": func(n night) int { return n.objects }, "bytes": func(n night) int { return n.bytes },
		"activities": func(n night) int { return n.activities }, "lists": func(n night) int { return n.lists },
		"gets": func(n night) int { return n.gets }, "puts": func(n night) int { return n.puts },
		"care lists":    func(n night) int { return n.careLists },
		"care requests": func(n night) int { return n.careAll },
	} {
		tenth := max(1, len(nights)/10)
		begin, middle, end := median(nights[:tenth], of), median(nights[(len(nights)-tenth)/2:][:tenth], of),
			median(nights[len(nights)-tenth:], of)
		first, second := middle-begin, end-middle
		if second > bend*max(first, 0)+0.05*end {
			t.Errorf("%s: %.0f, %.0f, %.0f at the begin, in the middle and at the end: want no faster growth", name,
				begin, middle, end)
		}
	}
}

// median returns the median cost of nights, without nights with copies.
func median(nights []night, of func(night) int) float64 {
	var all []int
	for _, n := range nights {
		all = append(all, of(n))
	}
	slices.Sort(all)

	return float64(all[len(all)/2])
}
