package environments

import (
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
