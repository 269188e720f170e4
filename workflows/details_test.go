package workflows

import (
	"strings"
	"testing"

	"github.com/collabui/collabui/activities/grade"
	"github.com/collabui/collabui/activities/rollout"
	"github.com/collabui/collabui/internal/method/credit"
)

// TestTextsOfPagesChangeNothing escapes a hostile text.
func TestTextsOfPagesChangeNothing(t *testing.T) {
	t.Parallel()
	const hostile = "<img src=x onerror=alert(1)> [a](javascript:b) `c` | d\n# e"
	want := `\<img src=x onerror=alert\(1\)\> \[a\]\(javascript:b\) \'c\' \| d \# e`
	if got := strings.ReplaceAll(plain(hostile), "`", "'"); got != want {
		t.Errorf("plain = %s, want %s", got, want)
	}
}

// TestAShardHasALineForEveryEpisode writes the page of a shard with hostile texts.
func TestAShardHasALineForEveryEpisode(t *testing.T) {
	t.Parallel()
	const hostile = "<img src=x onerror=alert(1)> | `c`\n# e"
	labels := credit.LabelCounts{Positive: 4, Negative: 5, Uncertain: 6}
	x := shardPage{in: ShardInput{Run: "x", Epoch: 1, View: "http://127.0.0.1:1/"}}
	x.lines = []episodeLine{
		{
			1, rollout.Played{Success: true, Steps: 3, Attempt: 1, Host: "h"},
			grade.Paired{Credited: grade.Credited{LabelCounts: labels}, Pairs: 2},
		},
		{2, rollout.Played{Failed: hostile}, grade.Paired{}},
	}
	for slot := range briefs + 2 {
		p := rollout.Played{Steps: 2, Attempt: 1, Host: "h", Brief: "goal: " + hostile + "\n1 click Save"}
		x.lines = append(x.lines, episodeLine{3 + slot, p, grade.Paired{}})
	}
	got := x.text()
	for _, want := range []string{
		"| [1](http://127.0.0.1:1/#/episode/x/1/1) | success | 3 | 4, 5, 6 | 2 | attempt 1, on h |\n",
		"| [2](http://127.0.0.1:1/#/episode/x/1/2) | **no episode** | | | | " + plain(hostile) + " |\n",
		"| [3](http://127.0.0.1:1/#/episode/x/1/3) | **failed** | 2 |",
		"\nslot 3 **failed** after 2 steps:\n\n    goal: <img", "\n    1 click Save\n",
		"\nand 2 more episodes that failed\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the page is\n%s\nwant %q in it", got, want)
		}
	}
	for line := range strings.Lines(got) {
		if strings.Contains(strings.ReplaceAll(line, `\<`, ""), "<img") && !strings.HasPrefix(line, "    ") {
			t.Errorf("the line %q holds what an agent said, want it in a block of code", line)
		}
	}
}
