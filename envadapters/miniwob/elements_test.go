package miniwob

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
)

// logOf returns the log of the page's handlers.
func logOf(t *testing.T, e *environment) []string {
	t.Helper()

	var log []string
	if err := e.eval(t.Context(), "log", &log); err != nil {
		t.Fatal(err)
	}

	return log
}

func TestSelectListsItsOptionsOnAClick(t *testing.T) {
	_, e := open(t, own, "")
	tr := reset(t, e, "form", 3)
	want := strings.Fields(strings.ReplaceAll(tr.Goal, ",", ""))[3]
	town := find(t, tr, "town")
	if town.Role != domain.RoleSelect || town.Value != "none" {
		t.Errorf("town is %+v, want a select with the value none", town)
	}

	n := len(tr.Observation.Elements)
	tr = step(t, e, on(domain.ActionClick, town))
	wantElements(t, tr, n+4)
	if s := find(t, tr, "town").State; !slices.Contains(s, "expanded") {
		t.Errorf("the states of the open list are %q, want expanded among them", s)
	}
	if !find(t, tr, "agree").Occluded || find(t, tr, "Name").Occluded {
		t.Errorf("got %+v, want the list to cover agree and not Name", tr.Observation.Elements)
	}

	wantInvalid(t, step(t, e, on(domain.ActionClick, find(t, tr, "Rome"))), "choose a disabled option")
	step(t, e, on(domain.ActionClick, town))
	wantElements(t, step(t, e, domain.Action{Type: domain.ActionBack}), n)

	tr = step(t, e, on(domain.ActionClick, town))
	tr = step(t, e, on(domain.ActionClick, find(t, tr, want)))
	wantElements(t, tr, n)
	if got := find(t, tr, "town").Value; got != want {
		t.Errorf("the list has the value %q, want %q", got, want)
	}
	log := logOf(t, e)
	if got := log[len(log)-2:]; !slices.Equal(got, []string{"input town", "change town"}) {
		t.Errorf("the last events are %q, want input town and change town", got)
	}
}

func TestTextChoosesAnOptionByItsName(t *testing.T) {
	_, e := open(t, own, "")
	tr := reset(t, e, "form", 3)
	want := strings.Fields(strings.ReplaceAll(tr.Goal, ",", ""))[3]
	town := find(t, tr, "town")

	write := func(text string) envadapters.Transition {
		return step(t, e, domain.Action{Type: domain.ActionInputText, Text: text}.At(town.Index))
	}
	wantInvalid(t, write("nowhere"), "choose a missing option")
	write("none")
	tr = write(strings.ToLower(want))
	wantReward(t, step(t, e, on(domain.ActionClick, find(t, tr, "Submit"))), 1, true)
}

func TestTypedTextReplacesWhatAFieldHolds(t *testing.T) {
	for semantics, enter := range map[string]bool{Standard: false, Mobile: true} {
		t.Run(semantics, func(t *testing.T) {
			_, e := open(t, own, semantics)
			tr := reset(t, e, "form", 1)
			write := func(name, text string) envadapters.Transition {
				field := find(t, tr, name)
				return step(t, e, domain.Action{Type: domain.ActionInputText, Text: text}.At(field.Index))
			}

			tr = write("Name", "Äda 2")
			if f := find(t, tr, "Name"); f.Value != "Äda 2" || !slices.Contains(f.State, "focused") {
				t.Errorf("the field is %+v, want it focused with the value Äda 2", f)
			}
			if log := logOf(t, e); slices.Contains(log, "keydown name Enter") != enter {
				t.Errorf("events %q, want Enter: %v", log, enter)
			}

			tr = write("day", "2/29/2024")
			if got := find(t, tr, "day").Value; got != "2024-02-29" {
				t.Errorf("the date is %q, want 2024-02-29", got)
			}
			tr = write("day", "tomorrow")
			wantInvalid(t, tr, "type a text that is not a date")
			if got := find(t, tr, "day").Value; got != "2024-02-29" {
				t.Errorf("after a wrong text the date is %q, want 2024-02-29", got)
			}

			tr = step(t, e, on(domain.ActionClick, find(t, tr, "agree")))
			if got := find(t, tr, "agree").State; !slices.Contains(got, "checked") {
				t.Errorf("the states of the checkbox are %q, want checked among them", got)
			}
			wantInvalid(t, write("Submit", "x"), "type into a button")
		})
	}
}

func TestElementsSayWhetherATapReachesThem(t *testing.T) {
	_, e := open(t, own, "")
	tr := reset(t, e, "covered", 1)

	for _, c := range []struct {
		name              string
		visible, occluded bool
	}{
		{name: "A", visible: true},
		{name: "B", visible: true},
		{name: "C", visible: true, occluded: true},
		{name: "D", visible: true},
		{name: "E"},
	} {
		x := find(t, tr, c.name)
		if x.Visible != c.visible || x.Occluded != c.occluded {
			t.Errorf("%s: visible %v, occluded %v, want %v, %v", c.name, x.Visible, x.Occluded, c.visible, c.occluded)
		}
	}

	for _, x := range tr.Observation.Elements {
		if strings.Contains(x.Text, "Last reward") || strings.Contains(x.Text, "Click A") || x.Text == "START" {
			t.Errorf("%q is listed, want the elements of the task only", x.Text)
		}
	}

	dot := find(t, tr, "blue circle dot")
	if dot.Role != "item" || dot.Bounds != (domain.Rect{3, 168, 18, 18}) && dot.Bounds[2] != 18 {
		t.Errorf("the dot is %+v, want an item 18 pixels wide", dot)
	}
}

func TestTapsHitWhatIsNotCovered(t *testing.T) {
	_, e := open(t, own, "")
	tr := reset(t, e, "covered", 1)
	missed := step(t, e, on(domain.ActionClick, find(t, tr, "E")))
	wantInvalid(t, missed, "click what is not visible")
	if missed.Touch != nil {
		t.Errorf("what was not executed reached the screen at %+v, want nowhere", missed.Touch)
	}

	for range 5 {
		down := domain.Action{Type: domain.ActionScroll, Direction: "down"}
		tr = step(t, e, down.At(find(t, tr, "above").Index))
		if x := tr.Touch; x == nil || x.To == nil || x.At[0] != 125 || x.To[1] >= x.At[1] {
			t.Errorf("a scroll down is said to have been %+v, want an upward swipe in the middle of the box", x)
		}
		if find(t, tr, "E").Visible {
			break
		}
	}
	if find(t, tr, "above").Visible && !find(t, tr, "E").Visible {
		t.Errorf("after scrolling: %+v, want E visible", tr.Observation.Elements)
	}

	tr = step(t, e, on(domain.ActionClick, find(t, tr, "A")))
	if want := (&domain.Touch{At: [2]int{16, 64}}); !reflect.DeepEqual(tr.Touch, want) {
		t.Errorf("the click reached %+v, want the corner %+v, because B covers the middle", tr.Touch, want)
	}
	if tr.Reward != 1 {
		t.Errorf("the reward of a click on A is %v, want 1: %+v", tr.Reward, tr)
	}
}
