package view_test

import (
	"fmt"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
)

// touched adds to the run "crafted", in slot 5, an episode in which actions touched the screen in different ways.
func touched(t *testing.T, b store.Bucket) runs.Run {
	t.Helper()
	run := crafted(t, b)
	slots, _, err := run.Slots(1).Must(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	slot := slots.Slots[4] // it has not begun
	field := 1
	e := runs.Episode{Slot: slot, Attempt: 1, Goal: "g"}
	record(t, b, run.Start(1, slot.Number, 1), runs.Start{Slot: slot, Attempt: 1})
	for i, a := range []domain.Action{
		{Type: domain.ActionClick}, {Type: domain.ActionClick}, {Type: domain.ActionSwipe, Direction: "up"},
		{Type: domain.ActionScroll, Direction: "up"}, {Type: domain.ActionWait},
	} {
		s := runs.Step{Step: hostileStep()}
		s.Number = i + 1
		s.Observation.Elements[0].Target = &field // a label
		if s.Decision.Executed = a; a.Type == domain.ActionClick {
			s.Decision.Executed = a.At(0)
		}
		switch i {
		case 1:
			s.Touch = &domain.Touch{At: [2]int{16, 14}} // of step 1
		case 3:
			s.Touch = &domain.Touch{At: [2]int{180, 500}, To: &[2]int{180, 100}} // of step 3
		}
		e.Steps = append(e.Steps, record(t, b, run.Step(1, slot.Number, 1, i+1), s))
	}
	record(t, b, run.Attempt(1, slot.Number, 1), e)

	return run
}

func TestTheMarkerLiesWhereTheActionHappened(t *testing.T) {
	var b store.Memory
	run := touched(t, &b)
	x := newTab(t)
	x.open(serve(t, &b, string(run)), "document.querySelector('h1')")
	for step, want := range []string{
		"16 14 ",                   // as recorded
		"110 80 ",                  // the middle of the field that takes the input to the label
		"180 500 M180 500L180 100", // a swipe, as recorded
		"180 260 M180 260L180 380", // a scroll up without a record moves the finger down
		"",                         // waiting touches nothing
	} {
		x.page(fmt.Sprintf("#/episode/%s/1/5/%d", run, step+1), fmt.Sprintf("Decision in step %d", step+1))
		got := x.eval(`(() => {
			const m = document.querySelector('.look .marker');
			const c = m && m.querySelector('circle');
			const arrow = m && m.querySelector('.arrow');
			return m ? c.getAttribute('cx') + ' ' + c.getAttribute('cy') + ' ' +
				(arrow ? arrow.getAttribute('d').split('M').slice(0, 2).join('M') : '') : '';
		})()`)
		if got != want {
			t.Errorf("step %d is marked at %q, want %q", step+1, got, want)
		}
	}
	for step, want := range map[int]float64{1: 112, 3: 520} { // thumbnails leave out empty parts, but no marker
		got := x.eval(fmt.Sprintf("document.querySelectorAll('.strip svg.screen')[%d].viewBox.baseVal.height", step-1))
		if got.(float64) < want || step == 1 && got.(float64) > 200 {
			t.Errorf("the thumbnail of step %d is %v high, want at least %v and nothing empty", step, got, want)
		}
	}
	x.quiet()
}

func TestDrawnScreensShowRolesStatesAndValues(t *testing.T) {
	var b store.Memory
	run := crafted(t, &b)
	slots, _, err := run.Slots(1).Must(t.Context(), &b)
	if err != nil {
		t.Fatal(err)
	}
	step := hostileStep()
	box := domain.Rect{10, 10, 200, 40}
	step.Observation.Elements = []domain.Element{
		{Index: 0, Role: "checkbox", Text: "Tea", State: []string{"checked"}, Visible: true, Bounds: box},
		{Index: 1, Role: "checkbox", Text: "Milk", State: []string{"unchecked"}, Visible: true, Bounds: box},
		{Index: 2, Role: "radio", Text: "Hot", State: []string{"unchecked"}, Visible: true, Bounds: box},
		{Index: 3, Role: "slider", Desc: "Sugar", Value: "3", Visible: true, Bounds: box},
		{Index: 4, Role: "button", Text: "Order", State: []string{"disabled"}, Visible: true, Bounds: box},
	}
	play(t, &b, run, slots.Slots[4], 1, step) // it has not begun
	x := newTab(t)
	x.open(serve(t, &b, string(run)), "document.querySelector('h1')")
	x.page("#/episode/crafted/1/5", "Decision in step 1")
	got := x.eval(`[...document.querySelectorAll('.look .box')]
		.map((e) => e.querySelector('.words').textContent.trim() +
		' | ' + e.querySelector('.about').textContent.trim()).join('; ')`)
	want := "☑ Tea | checkbox; ☐ Milk | checkbox; ○ Hot | radio; Sugar: 3 | slider; Order | button, disabled"
	if got != want {
		t.Errorf("the screen is drawn as\n%v\nwant\n%s", got, want)
	}
	x.quiet()
}
