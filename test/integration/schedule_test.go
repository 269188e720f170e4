//go:build integration

package integration

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.temporal.io/sdk/client"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters/openenv"
	"github.com/collabui/collabui/envadapters/scripted"
	"github.com/collabui/collabui/internal/records/schedules"
)

// hourly is a schedule of line pages in the environment of heldRun.
const hourly = `name: hourly
line: pages
environment: mine
environments:
  mine: {suite: openenv, servers: ["ws://%s/ws"], places: 4}
when: {every: 1h, catch_up: 10m}
train: {epochs: 1}
gate: {episodes: 20}
drift: {episodes: 20}
`

// changing serves a scripted suite that can be replaced, like a server by a newer version.
type changing struct{ now atomic.Pointer[http.Handler] }

func (c *changing) ServeHTTP(w http.ResponseWriter, r *http.Request) { (*c.now.Load()).ServeHTTP(w, r) }

func (c *changing) serve(t *testing.T, s *scripted.Suite) {
	t.Helper()
	h, err := openenv.Handler(s)
	if err != nil {
		t.Fatal(err)
	}
	c.now.Store(&h)
}

// inbox is a webhook that refuses its first requests.
type inbox struct {
	mu      sync.Mutex
	refuses int
	took    []domain.Notice
}

func (i *inbox) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	var n domain.Notice
	raw, _ := io.ReadAll(r.Body)
	if i.refuses--; i.refuses >= 0 || json.Unmarshal(raw, &n) != nil {
		w.WriteHeader(http.StatusServiceUnavailable)

		return
	}
	i.took = append(i.took, n)
}

// kinds returns the kinds of the accepted notices, sorted, without repetitions of a notice.
func (i *inbox) kinds() (out []domain.NoticeKind) {
	i.mu.Lock()
	defer i.mu.Unlock()
	known := map[string]bool{}
	for _, n := range i.took {
		if !known[n.ID] {
			known[n.ID] = true
			out = append(out, n.Kind)
		}
	}
	slices.Sort(out)

	return out
}

// outcome waits until n firings have ended and returns the last outcome.
func (m *machine) outcome(n int) schedules.Outcome {
	m.t.Helper()
	var x struct {
		Outcomes []schedules.Outcome `json:"outcomes"`
	}
	m.poll(fmt.Sprintf("%d firings have ended", n), 4*time.Minute, time.Second, func() bool {
		out, err := m.try("schedule", "show", "hourly", "--json")

		return err == nil && json.Unmarshal([]byte(out), &x) == nil && len(x.Outcomes) == n
	})

	return x.Outcomes[n-1]
}

// TestAScheduleTrainsOnNewTasksWhateverIsKilled lets a schedule fire in a real Temporal, kills the worker in the middle
// of a firing, and then deletes and collects the results on the real S3 server.
func TestAScheduleTrainsOnNewTasksWhateverIsKilled(t *testing.T) {
	t.Parallel()
	server := &changing{}
	server.serve(t, &scripted.Suite{Length: 2})
	pages := httptest.NewServer(server)
	t.Cleanup(pages.Close)
	hook := &inbox{refuses: 3}
	webhook := httptest.NewServer(hook)
	t.Cleanup(webhook.Close)
	addr := strings.TrimPrefix(pages.URL, "http://")
	m := newMachine(t, fmt.Sprintf(heldRun, addr, demonstrated))
	m.env = append(m.env, "COLLABUI_WEBHOOK="+webhook.URL,
		`COLLABUI_WEBHOOK_TEMPLATE={{if eq .Kind "ended" "rejected" "promoted"}}`+
			`{"id": {{json .ID}}, "kind": {{json .Kind}}}{{end}}`)

	m.must("train", m.spec)
	file := m.write("hourly.yaml", fmt.Sprintf(hourly, addr))
	away := []string{"schedule", "create", m.write("away.yaml", fmt.Sprintf(hourly, "127.0.0.1:9"))}
	refused := []string{"hourly was not started, and nothing was recorded", "127.0.0.1:9"}
	out, err := m.try(away...)
	m.contains(out, err, append(refused, "no accepted system yet"), away)
	m.must("line", "promote", "pages", "kill", "--why", "the first")
	out, err = m.try(away...)
	m.contains(out, err, refused, away)
	m.says([]string{"hourly", "waiting", "version 1"}, "schedule", "create", file)
	for i := range 3 {
		m.trigger()
		if o := m.outcome(i + 1); o.Verb != schedules.VerbNone || o.News != schedules.NewsNone {
			t.Errorf("firing %d ended with %+v, want nothing new", i+1, o)
		}
	}
	m.inTemporal(func(h client.ScheduleHandle) error {
		return h.Pause(t.Context(), client.SchedulePauseOptions{Note: "a look"})
	})
	m.says([]string{"paused", "note: a look"}, "schedule", "show", "hourly")
	m.inTemporal(func(h client.ScheduleHandle) error {
		return h.Unpause(t.Context(), client.ScheduleUnpauseOptions{})
	})
	m.says([]string{"hourly", "waiting"}, "schedule", "show")

	server.serve(t, &scripted.Suite{Length: 2, More: []string{"h", "i"}})
	m.trigger()
	m.eventually("the firing trains", time.Minute, func() bool { return m.count("runs/hourly-") > 30 })
	m.says([]string{"phase: training", "run: hourly-"}, "schedule", "show", "hourly")
	m.kill("worker", m.service("worker").PID)
	o := m.outcome(4)
	if o.News != schedules.NewsTasks || o.Run == "" || o.Verb != "promote" && o.Verb != "reject" {
		t.Errorf("the last firing ended with %+v, want new tasks judged", o)
	}
	m.says([]string{o.Verb, o.Run}, "line", "show", "pages")
	m.eventually("the webhook took everything", time.Minute, func() bool { return len(hook.kinds()) == 3 })
	if got := fmt.Sprint(hook.kinds()); got != "[ended ended "+o.Verb+"ed]" && got != "[ended ended promoted]" {
		t.Errorf("the webhook took %v, want the ends of both runs and the verdict", got)
	}

	m.refuses("entry 1 of line pages accepts", "delete", "kill", "--why", "old")
	m.collects(o)
}

// collects deletes a rejected run, and collects it.
func (m *machine) collects(o schedules.Outcome) {
	m.t.Helper()
	m.says([]string{"would be put into the trash"}, "gc", "--dry-run")
	if o.Verb == "reject" {
		m.must("delete", o.Run, "--why", "rejected")
	}
	for range 2 {
		time.Sleep(65 * time.Second)
		m.must("gc", "--grace", "1m")
		m.says([]string{"0 problems"}, "fsck")
	}
	if out := m.must("runs"); strings.Contains(out, o.Run) && o.Verb == "reject" {
		m.t.Errorf("runs prints\n%s\nwant it without %s", out, o.Run)
	}
	forget := func(h client.ScheduleHandle) error { return h.Delete(m.t.Context()) }
	m.inTemporal(forget)
	m.says([]string{"deleted", "schedule create hourly"}, "schedule", "show", "hourly")
	m.says([]string{"version 1", "waiting"}, "schedule", "create", "hourly") // as after a restore: the store has it
	m.inTemporal(forget)
	m.refuses("there is no file weekly", "schedule", "create", "weekly")
}

// trigger makes the schedule fire now. Temporal names a firing by its second, so each is triggered in a different one.
func (m *machine) trigger() {
	m.t.Helper()
	time.Sleep(time.Second)
	m.inTemporal(func(h client.ScheduleHandle) error {
		return h.Trigger(m.t.Context(), client.ScheduleTriggerOptions{})
	})
}

// inTemporal performs an action on the schedule in Temporal, as its UI does.
func (m *machine) inTemporal(act func(client.ScheduleHandle) error) {
	m.t.Helper()
	c, err := client.Dial(client.Options{HostPort: m.service("temporal").Addr, Namespace: "collabui"})
	if err != nil {
		m.t.Fatal(err)
	}
	defer c.Close()
	if err := act(c.ScheduleClient().GetHandle(m.t.Context(), "hourly")); err != nil {
		m.t.Fatal(err)
	}
}
