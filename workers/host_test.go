package workers

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/collabui/collabui/workflows"
)

func TestNumbersFollowFromTheMachine(t *testing.T) {
	t.Setenv("CUDA_VISIBLE_DEVICES", "0,GPU-77")
	o := Options{Roles: Roles}
	if err := o.fill(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(o.Training.GPUs, []string{"0", "GPU-77"}) || o.Updates != 2 || o.Tabs < 1 || o.Tabs > 64 || o.Calls < 4 || !filepath.IsAbs(o.Training.Work) || slots(workflows.QueueGPU, o) != 2 {
		t.Errorf("%+v", o)
	}
	if s := o.describe(); !strings.Contains(s, "2 updates at once, GPUs [0 GPU-77]") || !strings.Contains(s, "places for episodes") {
		t.Error(s)
	}
	t.Setenv("CUDA_VISIBLE_DEVICES", "")
	o = Options{Roles: Roles, Tabs: 5, Updates: 3}
	if err := o.fill(t.Context()); err != nil || len(o.Training.GPUs) != 0 || o.Updates != 3 || o.Tabs != 5 {
		t.Errorf("%+v %v", o, err)
	}
	if raw, err := os.ReadFile("/proc/meminfo"); err == nil && runtime.GOOS == "linux" && (memory() < 256<<20 || !strings.Contains(string(raw), "MemTotal")) {
		t.Errorf("%d bytes of memory", memory())
	}
}

func TestAnUnknownRoleIsNamedBeforeAnythingStarts(t *testing.T) {
	if err := Run(t.Context(), Options{Roles: []string{"rolout"}}); err == nil || !strings.Contains(err.Error(), `unknown role "rolout"; roles are control, rollout, model, gpu, serve`) {
		t.Error(err)
	}
}
