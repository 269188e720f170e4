package agents

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/collabui/collabui/domain"
)

// wordsBeyond returns a function that returns how many words of a prompt exceed the limit.
func wordsBeyond(limit int) func(string) int {
	return func(user string) int { return max(0, len(strings.Fields(user))-limit) }
}

// crowdedView returns a view with four lines of history and six elements of three words each, and a message of a peer.
// Elements 1 and 4 are near because of their text, element 2 because the message names it.
func crowdedView() (View, []Message) {
	var o domain.Observation
	for i, text := range []string{"Mail", "Budget", "Draft", "Spam", "Archive", "Trash"} {
		o.Elements = append(o.Elements, domain.Element{Index: i, Role: "item", Text: text, Visible: true})
	}
	v := View{Goal: "Open the budget", Observation: o}
	for i, what := range []string{"navigate_back", "wait", "wait", "click archive"} {
		v.History = append(v.History, fmt.Sprint(i+1, " ", what))
	}

	return v, []Message{{Agent: 2, Text: click(2)}}
}

func TestAPromptIsCutByRule(t *testing.T) {
	v, peers := crowdedView()
	full := prompt(t, v, "my words", peers)
	size := len(strings.Fields(full))
	for name, c := range map[string]struct {
		limit int
		want  domain.LeftOut
		says  string
	}{
		"a prompt that fits is not cut": {
			limit: size,
			want:  domain.LeftOut{},
			says:  "",
		},
		"the oldest line of the history goes first": {
			size - 1, domain.LeftOut{History: 3}, "Left out: 3 history lines\n", // its note takes five words
		},
		"then the last element that shares no word": {
			limit: size - 2,
			want:  domain.LeftOut{History: 3, Elements: []int{5}},
			says:  "Left out: 3 history lines, 1 element\n",
		},
		"then the others that share no word": {
			limit: size - 8,
			want:  domain.LeftOut{History: 3, Elements: []int{0, 3, 5}},
			says:  "Left out: 3 history lines, 3 elements\n",
		},
		"then the last of those that do": {
			limit: size - 11,
			want:  domain.LeftOut{History: 3, Elements: []int{0, 3, 4, 5}},
			says:  "Left out: 3 history lines, 4 elements\n",
		},
		"goal, newest line and messages stay in any case": {
			limit: 1,
			want:  domain.LeftOut{History: 3, Elements: []int{0, 1, 2, 3, 4, 5}},
			says:  "Left out: 3 history lines, 6 elements\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, left, err := Default.Bounded(wordsBeyond(c.limit)).Fit(v, "my words", peers)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(left, c.want) || !strings.Contains(got, c.says) {
				t.Errorf("left out %+v, want %+v and %q in\n%s", left, c.want, c.says, got)
			}
			for _, kept := range []string{
				"Goal: Open the budget\n", "\n4 click archive\n", "\nYou said: my words\nAgent 2 said",
			} {
				if !strings.Contains(got, kept) {
					t.Errorf("got\n%s\nwant %q in it", got, kept)
				}
			}
		})
	}
}

// TestNoMoreIsLeftOutThanMustBe tries every limit. The prompt fits whenever anything can still be left out, and a
// prompt that fits without a bound is the same with it.
func TestNoMoreIsLeftOutThanMustBe(t *testing.T) {
	v, peers := crowdedView()
	full := prompt(t, v, "", peers)
	last := -1
	for limit := range len(strings.Fields(full)) + 5 {
		got, left, err := Default.Bounded(wordsBeyond(limit)).Fit(v, "", peers)
		if err != nil {
			t.Fatal(err)
		}
		n := left.History + len(left.Elements)
		if over := wordsBeyond(limit)(got); over > 0 && n < 9 {
			t.Errorf("limit %d: %d words too many and %d things left out, want all 9", limit, over, n)
		}
		if last >= 0 && n > last {
			t.Errorf("limit %d: %d things left out, want at most %d as with less room", limit, n, last)
		}
		if wordsBeyond(limit)(full) == 0 && got != full {
			t.Errorf("limit %d: got\n%s\nwant the unbounded prompt\n%s", limit, got, full)
		}
		last = n
	}
}

func TestCellsSayWhatTheirPromptsLack(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var o domain.Observation
	for i := range 60 {
		o.Elements = append(o.Elements, domain.Element{
			Index: i, Role: "item", Text: fmt.Sprint("t", r.IntN(30)), Visible: r.IntN(4) > 0,
		})
	}
	c := threeAgents()
	c.Template = Default.Bounded(wordsBeyond(90))
	d := decide(t, newRecorder(), c, View{Goal: "press t3", History: []string{"1 wait", "2 wait"}, Observation: o}, 3)

	for _, cell := range d.Cells {
		for _, e := range o.Elements {
			seen := slices.Contains(d.Seen[cell.Agent], e.Index)
			want := seen && !slices.Contains(cell.LeftOut.Elements, e.Index)
			if got := strings.Contains(cell.Prompt, "\n"+ElementLine(e)+"\n"); got != want {
				t.Errorf("agent %d, element %d in the prompt: %v, want %v", cell.Agent, e.Index, got, want)
			}
		}
		if want := strings.Contains(cell.Prompt, "Left out: 1 history line, "); !want || cell.LeftOut.History != 1 {
			t.Errorf("agent %d lacks %+v, want one line of the history; its prompt is\n%s",
				cell.Agent, cell.LeftOut, cell.Prompt)
		}
	}
	if got := d.Cut(); got != len(d.Cells) {
		t.Errorf("Cut() = %d, want all %d cells", got, len(d.Cells))
	}
}
