package typed

import (
	"slices"
	"testing"
)

func TestCommandsAreFoundInBlocksSentencesAndTables(t *testing.T) {
	const page = "# A page\n\n```\nmake train   # builds\n\n# a remark\nbin/collabui train my.yaml\n```\n\n" +
		"```yaml\nname: a\n```\n\nType `bin/collabui view`, not `collabui view` or `view`.\n\n" +
		"| | |\n|---|---|\n" +
		"| see | `collabui runs`, `show RUN`, `.collabui/logs`, `--as a\\|b`, `export --as a\\|b` |\n" +
		"| key | `train` |\n"
	want := []string{"make train", "train my.yaml", "view", "runs", "show RUN", "export --as a|b"}
	if got := Commands(page); !slices.Equal(got, want) {
		t.Errorf("Commands = %q, want %q", got, want)
	}
}
