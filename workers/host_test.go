package workers

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/workflows"
)

func filled(t *testing.T, o Options) Options {
	t.Helper()
	if err := o.fill(t.Context()); err != nil {
		t.Fatal(err)
	}

	return o
}

func TestNumbersFollowFromTheMachine(t *testing.T) {
	t.Setenv("CUDA_VISIBLE_DEVICES", "0,GPU-77")
	o := filled(t, Options{Roles: Roles})

	if want := []string{"0", "GPU-77"}; !slices.Equal(o.Training.GPUs, want) {
		t.Errorf("GPUs = %v, want %v", o.Training.GPUs, want)
	}
	if got := concurrency(workflows.QueueGPU, o); got != 2 {
		t.Errorf("%d concurrent updates, want one per GPU: 2", got)
	}
	if o.Tabs < 1 || o.Tabs > maxTabs {
		t.Errorf("%d episodes per browser, want 1 to %d", o.Tabs, maxTabs)
	}
	if o.Calls < 4 {
		t.Errorf("%d concurrent calls, want at least 4", o.Calls)
	}
	if !filepath.IsAbs(o.Training.Work) {
		t.Errorf("the working folder is %s, want an absolute path", o.Training.Work)
	}
	for _, want := range []string{"updates 2", "gpus 0,GPU-77", "episodes"} {
		if got := fmt.Sprintln(o.describe()...); !strings.Contains(got, want) {
			t.Errorf("describe() = %s, want %q in it", got, want)
		}
	}
}

func TestGivenNumbersAreKept(t *testing.T) {
	t.Setenv("CUDA_VISIBLE_DEVICES", "")
	o := filled(t, Options{Roles: Roles, Tabs: 5, Updates: 3})

	if len(o.Training.GPUs) != 0 || o.Updates != 3 || o.Tabs != 5 {
		t.Errorf("%d GPUs, %d updates, %d episodes per browser; want 0, 3, 5", len(o.Training.GPUs), o.Updates, o.Tabs)
	}
}

func TestMemoryIsThatOfTheMachine(t *testing.T) {
	if _, err := os.Stat("/proc/meminfo"); err != nil || runtime.GOOS != "linux" {
		t.Skip("no /proc/meminfo here")
	}
	if got := memory(); got < 256<<20 {
		t.Errorf("memory() = %d bytes, want at least 256 MiB", got)
	}
}

func TestAnUnknownRoleIsNamedBeforeAnythingStarts(t *testing.T) {
	err := Run(t.Context(), Options{Roles: []string{"rolout"}})
	want := `unknown role "rolout"; roles are control, rollout, model, gpu, serve`
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("Run = %v, want an error with %q", err, want)
	}
}

func TestAContainerMayHaveLessMemoryThanItsMachine(t *testing.T) {
	file := func(text string) string {
		f := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(f, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}

		return f
	}
	machine := file("MemTotal:       16777216 kB\nMemFree: 1 kB\n")
	for _, c := range []struct {
		container string
		want      uint64
	}{
		{file("2147483648\n"), 2 << 30}, {file("max\n"), 16 << 30}, {filepath.Join(t.TempDir(), "none"), 16 << 30},
	} {
		if got := memoryOf(machine, c.container); got != c.want {
			t.Errorf("memory is %d, want %d", got, c.want)
		}
	}
}

// TestAWorkFolderOfAnotherAccountIsRefused: training programs run scripts in it.
func TestAWorkFolderOfAnotherAccountIsRefused(t *testing.T) {
	shared := filepath.Join(t.TempDir(), "tmp")
	if err := os.Mkdir(shared, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(shared, 0o777|os.ModeSticky); err != nil {
		t.Fatal(err)
	}
	own := filepath.Join(shared, "own")
	for range 2 {
		if err := ownFolder(own); err != nil {
			t.Errorf("ownFolder = %v, want the folder made, and then found", err)
		}
	}
	if err := os.Chmod(own, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := ownFolder(own); err != nil {
		t.Errorf("ownFolder = %v, want it closed to others", err)
	}
	if info, err := os.Stat(own); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("the folder has the mode %v, %v, want 0755", info.Mode().Perm(), err)
	}

	link := filepath.Join(shared, "link")
	if err := os.Symlink(own, link); err != nil {
		t.Fatal(err)
	}
	if err := ownFolder(link); fault.KindOf(err) != fault.Invalid {
		t.Errorf("ownFolder of a link = %v, want an invalid fault", err)
	}
	if os.Getuid() != 0 {
		t.Skip("only root can give a folder to another account")
	}
	foreign := filepath.Join(shared, "foreign")
	if err := errors.Join(os.Mkdir(foreign, 0o777), os.Chown(foreign, 65534, 65534)); err != nil {
		t.Fatal(err)
	}
	if err := ownFolder(foreign); fault.KindOf(err) != fault.Invalid {
		t.Errorf("ownFolder of another account's = %v, want an invalid fault", err)
	}
}

// TestFoldersOfServingAreOneAccountsAlone: an engine loads adapters from them.
func TestFoldersOfServingAreOneAccountsAlone(t *testing.T) {
	for _, c := range []struct{ roles, adapters, want string }{
		{workflows.QueueRollout, "", ""},
		{workflows.QueueGPU, "", "work"},
		{RoleServe, "", "work"},
		{RoleServe, "adapters", "adapters"},
		{RoleServe + " " + workflows.QueueGPU, "adapters", "adapters work"},
	} {
		o := Options{Roles: strings.Fields(c.roles), Serve: Serve{Adapters: c.adapters}}
		o.Training.Work = "work"
		if got := strings.Join(o.ownFolders(), " "); got != c.want {
			t.Errorf("%s with adapters in %q: own folders = %q, want %q", c.roles, c.adapters, got, c.want)
		}
	}
}
