package androidworld

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/envadapters/acceptance"
	"github.com/collabui/collabui/envadapters/openenv"
	"github.com/collabui/collabui/fault"
)

// companion starts the real companion over stubs of AndroidWorld. faults is the path of a JSON file that makes the
// stubs misbehave.
func companion(t *testing.T) (url, faults string) {
	t.Helper()
	python := os.Getenv("COLLABUI_PYTHON")
	if python == "" {
		python = "python3"
	}

	if out, err := exec.Command(python, "-c", "import aiohttp").CombinedOutput(); err != nil {
		t.Skipf("%s has no aiohttp (apt-get install python3-aiohttp, or COLLABUI_PYTHON): %s", python, out)
	}

	dir, err := filepath.Abs("../../deploy/androidworld")
	if err != nil {
		t.Fatal(err)
	}

	faults = filepath.Join(t.TempDir(), "faults.json")
	cmd := exec.Command(python, "-m", "collabui_companion",
		"--port", "0", "--emulator-command", "sleep 1000", "--hang-limit", "2")
	cmd.Env = append(os.Environ(),
		"PYTHONPATH="+filepath.Join(dir, "tests/stubs")+":"+dir,
		"STUB_PHONE="+faults)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}

	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		time.AfterFunc(10*time.Second, func() { _ = cmd.Process.Kill() })
		_ = cmd.Wait()
	})

	line, err := bufio.NewReader(out).ReadString('\n')
	addr, ok := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
	if err != nil || !ok {
		t.Fatalf("the companion says %q, %v, want its address", line, err)
	}

	return "ws://" + addr + "/ws", faults
}

var stubTasks = []entry{
	{Name: "ContactsAddContact", Group: groupAndroid, Steps: 12},
	{Name: "SystemWifiTurnOff", Group: groupAndroid, Steps: 10},
	{Name: "ContactsNumber", Group: groupQuestions, Steps: 14},
	{Name: "click-test", Group: groupMiniwob, Steps: 30, Subset: true},
}

// solve plays an episode that turns off the stub's Wi-Fi.
func solve(t *testing.T, s *Suite) (envadapters.Score, error) {
	t.Helper()

	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()

	env, err := s.Open(ctx)
	if err != nil {
		return envadapters.Score{}, err
	}
	defer env.Close(ctx)

	tr, err := env.Reset(ctx, task("SystemWifiTurnOff", 5, 10))
	if err == nil && !strings.Contains(strings.ToLower(tr.Goal), "wi") {
		t.Errorf("the goal is %q, want it to name the Wi-Fi", tr.Goal)
	}

	for _, name := range []string{"Settings", "Wi-Fi"} {
		named := func(e domain.Element) bool { return e.Text == name }
		at := slices.IndexFunc(tr.Observation.Elements, named)
		if err != nil || at < 0 {
			return envadapters.Score{}, err
		}
		tr, err = env.Step(ctx, domain.Action{Type: domain.ActionClick}.At(tr.Observation.Elements[at].Index))
	}

	if err == nil {
		tr, err = env.Step(ctx, domain.Action{Type: domain.ActionStatus, GoalStatus: domain.StatusComplete})
	}

	if err == nil && !tr.Terminated {
		t.Errorf("after the agent's word: %+v, want the end", tr)
	}

	sc, _ := env.Score(ctx)

	return sc, err
}

// TestTheRealCompanion checks that the companion behaves as its fake does.
func TestTheRealCompanion(t *testing.T) {
	url, faults := companion(t)
	l := quick
	l.call, l.poll, l.hang = 5*time.Second, 20*time.Millisecond, 3*time.Second
	s, err := open(envadapters.Options{Servers: []string{url}}, l, stubTasks)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()

	for _, r := range acceptance.Test(t, s, 2) {
		if r.Screenshot == nil {
			t.Errorf("%s: got no screenshot, want one", r.Template)
		}
	}

	solved := func(t *testing.T) {
		t.Helper()
		if sc, err := solve(t, s); err != nil || !sc.Success || sc.Raw != 1 {
			t.Fatalf("the episode scores %+v, %v, want success with 1", sc, err)
		}
	}

	misbehave := func(t *testing.T, how string) {
		t.Helper()
		if err := os.WriteFile(faults, []byte(how), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	solved(t)
	for _, x := range []struct {
		name, faults string
		want         openenv.Code
	}{
		{"dirty state", `{"missing": ["settings"]}`, openenv.CodeDirty},
		{"failed setup", `{"raises": {"initialize": ["no such table"]}}`, openenv.CodeTaskInit},
		{"hanging call", `{"hangs": {"execute": 4}}`, openenv.CodeADB},
	} {
		t.Run(x.name, func(t *testing.T) {
			before := s.pool.snapshot()
			misbehave(t, x.faults)
			_, err := solve(t, s)
			if fault.KindOf(err) != fault.Void || openenv.CodeOf(err) != x.want {
				t.Errorf("the episode = %v, want a void fault with %s", err, x.want)
			}

			misbehave(t, `{"missing": [], "raises": {}, "hangs": {}}`)
			solved(t)
			after := s.pool.snapshot()
			if got, want := after.Voids[x.want], before.Voids[x.want]+1; got != want {
				t.Errorf("%d void episodes with %s, want %d: %s", got, x.want, want, after)
			}
		})
	}

	t.Log(s.pool.snapshot())
}
