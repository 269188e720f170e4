package run

import (
	"strings"
	"testing"

	"github.com/collabui/collabui/cmd/collabui/status"
	"github.com/collabui/collabui/internal/config"
)

func TestADetachedRunSaysWhereItIsSeen(t *testing.T) {
	for view, want := range map[string]string{
		"": "run x is under way; watch it with W\n",
		"http://127.0.0.1:8085/": "run x is under way; watch it with W\n" +
			"see every episode: http://127.0.0.1:8085/#/run/x\n",
	} {
		var out strings.Builder
		startSummary{Run: "x", View: status.RunPage(config.Endpoints{View: view}, "x")}.text(&out, "W")
		if out.String() != want {
			t.Errorf("with the viewer at %q it says %q, want %q", view, out.String(), want)
		}
	}
}
