package environments

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/collabui/collabui/cmd/collabui/app"
	"github.com/collabui/collabui/test/kit/shell"
)

func TestCommandsForAnEnvironmentInPythonCanBePasted(t *testing.T) {
	for _, dir := range []string{"/my work/it's/lights", "-x/lights", "$HOME/lights", "a\nb/lights"} {
		for _, line := range pythonCommands(&app.App{Data: app.DefaultData}, dir, "/a b/collabui", "./python") {
			line = strings.TrimSuffix(line, " &")
			line, _, _ = strings.Cut(line, " && ")
			if !strings.Contains(line, "lights") {
				continue
			}
			args := shell.Args(t, line)
			last := args[len(args)-1]
			if !strings.HasPrefix(last, shell.Path(dir)) {
				t.Errorf("a shell reads %q of %s, want the folder %s in the last word", args, line, dir)
			}
		}
	}
}

func TestPipInstallsThePackageOfTheCheckoutOrOfTheRelease(t *testing.T) {
	const wheel = "collabui_env-1.2.3-py3-none-any.whl"
	outside := t.TempDir()
	archive := t.TempDir()
	debian := t.TempDir()
	for _, file := range []string{
		filepath.Join(archive, wheel), filepath.Join(debian, "bin", "collabui"),
		filepath.Join(debian, "share", "collabui", wheel),
	} {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}

	for _, x := range []struct{ name, dir, program, want string }{
		{"a checkout", ".", filepath.Join(archive, "collabui"), "/python"},
		{"an archive", outside, filepath.Join(archive, "collabui"), archive + "/" + wheel},
		{"a package of Debian", outside, filepath.Join(debian, "bin", "collabui"), "/share/collabui/" + wheel},
		{"the program alone", outside, filepath.Join(outside, "collabui"), "collabui_env-*.whl   # a file of"},
	} {
		t.Run(x.name, func(t *testing.T) {
			if got := pythonPackage(x.dir, x.program); !strings.Contains(got, x.want) {
				t.Errorf("pip install %s, want %s", got, x.want)
			}
		})
	}
}
