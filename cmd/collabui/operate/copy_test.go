package operate

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/collabui/collabui/cmd/collabui/app"
)

func TestCopyNeedsTwoStores(t *testing.T) {
	dir := t.TempDir()
	empty := filepath.Join(dir, "empty")
	if err := os.MkdirAll(filepath.Join(empty, "runs"), 0o700); err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(dir, "new")
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"a folder into another": {[]string{empty, to}, "0 runs, 0 objects"},
		"the same":              {[]string{empty, empty}, "expected two stores"},
		"no folder of copies":   {[]string{filepath.Join(dir, "none"), to}, "expected a folder of copy"},
		"a run that is absent":  {[]string{empty, to, "quickstart"}, "quickstart"},
		"no bucket":             {[]string{"https://host:9000", to}, "https://host:9000/bucket"},
		"no own store":          {[]string{"store", to}, "nothing runs for"},
	} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			a := &app.App{Out: &out, Data: filepath.Join(dir, "data")}
			err := runCopy(t.Context(), a, c.args[0], c.args[1], c.args[2:])
			if printed := fmt.Sprint(out.String(), err); !strings.Contains(printed, c.want) {
				t.Errorf("copy %q prints %q, want %q", c.args, printed, c.want)
			}
		})
	}
}
