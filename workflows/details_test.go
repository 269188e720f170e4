package workflows

import (
	"strings"
	"testing"

	"github.com/collabui/collabui/activities"
)

// TestTextsOfPagesChangeNothing writes hostile texts into the details of an episode and of a run.
func TestTextsOfPagesChangeNothing(t *testing.T) {
	t.Parallel()
	const hostile = "<img src=x onerror=alert(1)> [a](javascript:b) `c` | d\n# e"
	want := `\<img src=x onerror=alert\(1\)\> \[a\]\(javascript:b\) \'c\' \| d \# e`
	if got := strings.ReplaceAll(plain(hostile), "`", "'"); got != want {
		t.Errorf("plain = %s, want %s", got, want)
	}
	got := details(activities.Played{Success: true, Steps: 2, Attempt: 1, Host: "h", Brief: "goal: " + hostile})
	for i, line := range strings.Split(got, "\n") {
		if i > 0 && line != "" && !strings.HasPrefix(line, "    ") {
			t.Errorf("line %d of the details is %q, want it in a block of code", i+1, line)
		}
	}
	got = details(activities.Played{Page: "http://127.0.0.1:1/#/episode/x/1/2", Steps: 2})
	if !strings.HasPrefix(got, "[see the episode](http://127.0.0.1:1/#/episode/x/1/2)\n\n") {
		t.Errorf("the details are %q, want them to begin with the link to the episode's page", got)
	}
	got = details(activities.Played{Failed: hostile})
	if !strings.HasSuffix(got, ": "+plain(hostile)) {
		t.Errorf("the details are %q, want them to end with the escaped reason", got)
	}
}
