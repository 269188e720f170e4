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
	"github.com/collabui/collabui/fault"
)

// companion starts the real companion over the stubs of its upstream. faults is the path of a JSON file that makes the stubs misbehave.
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
	cmd := exec.Command(python, "-m", "collabui_companion", "--port", "0", "--emulator-command", "sleep 1000", "--hang-limit", "2")
	cmd.Env = append(os.Environ(), "PYTHONPATH="+filepath.Join(dir, "tests/stubs")+":"+dir, "STUB_PHONE="+faults, "PYTHONDONTWRITEBYTECODE=1")
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
		t.Fatalf("%q %v", line, err)
	}
	return "ws://" + addr + "/ws", faults
}

var stubTasks = []Entry{{Name: "ContactsAddContact", Group: "android_world", Steps: 12}, {Name: "SystemWifiTurnOff", Group: "android_world", Steps: 10}, {Name: "ContactsNumber", Group: "information_retrieval", Steps: 14},
	{Name: "click-test", Group: "miniwob", Steps: 30, Subset: true}}

// TestTheRealCompanion: what the fake says of the companion holds of the companion itself.
func TestTheRealCompanion(t *testing.T) {
	url, faults := companion(t)
	p := quick
	p.call, p.poll, p.hang = 5*time.Second, 20*time.Millisecond, 3*time.Second
	s, err := open(envadapters.Options{Servers: []string{url}}, p, stubTasks)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	for _, r := range acceptance.Test(t, s, 2) {
		if r.Screenshot == nil {
			t.Errorf("%+v", r)
		}
	}
	solve := func() (envadapters.Score, error) {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		env, err := s.Open(ctx)
		if err != nil {
			return envadapters.Score{}, err
		}
		defer env.Close(ctx)
		tr, err := env.Reset(ctx, domain.Task{Template: "SystemWifiTurnOff", Split: SplitAll, Seed: 5, MaxSteps: 10})
		if err == nil && !strings.Contains(strings.ToLower(tr.Goal), "wi") {
			t.Errorf("goal %q", tr.Goal)
		}
		for _, name := range []string{"Settings", "Wi-Fi"} {
			at := slices.IndexFunc(tr.Observation.Elements, func(e domain.Element) bool { return e.Text == name })
			if err != nil || at < 0 {
				return envadapters.Score{}, err
			}
			tr, err = env.Step(ctx, domain.Action{Type: domain.ActionClick}.At(tr.Observation.Elements[at].Index))
		}
		if err == nil {
			tr, err = env.Step(ctx, domain.Action{Type: domain.ActionStatus, GoalStatus: domain.StatusComplete})
		}
		if err == nil && !tr.Terminated {
			t.Errorf("%+v", tr)
		}
		sc, _ := env.Score(ctx)
		return sc, err
	}
	if sc, err := solve(); err != nil || !sc.Success || sc.Raw != 1 {
		t.Fatalf("%+v %v", sc, err)
	}
	for _, x := range []struct{ name, faults, code string }{
		{"dirty state", `{"missing": ["settings"]}`, "DIRTY"}, {"a task that cannot be set up", `{"raises": {"initialize": ["no such table"]}}`, "TASK_INIT"},
		{"a call that hangs", `{"hangs": {"execute": 4}}`, "ADB"},
	} {
		before := s.pool.now()
		if err := os.WriteFile(faults, []byte(x.faults), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := solve(); fault.KindOf(err) != fault.Void || !strings.Contains(err.Error(), x.code) {
			t.Errorf("%s: %v", x.name, err)
		}
		if err := os.WriteFile(faults, []byte(`{"missing": [], "raises": {}, "hangs": {}}`), 0o600); err != nil {
			t.Fatal(err)
		}
		if sc, err := solve(); err != nil || !sc.Success {
			t.Errorf("behind %s: %+v %v", x.name, sc, err)
		}
		if after := s.pool.now(); after.Voids[x.code] != before.Voids[x.code]+1 {
			t.Errorf("%s: %+v", x.name, after)
		}
	}
	t.Log(s.pool.say())
}
