package miniwob

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/envadapters/browser"
	"github.com/collabui/collabui/fault"
)

func TestSelectListsItsOptionsOnAClick(t *testing.T) {
	_, e := open(t, own, "")
	tr := reset(t, e, "form", 3)
	want := strings.Fields(strings.ReplaceAll(tr.Goal, ",", ""))[3]
	town := find(t, tr, "town")
	if town.Role != domain.RoleSelect || town.Value != "none" {
		t.Errorf("%+v", town)
	}
	n := len(tr.Observation.Elements)
	tr = step(t, e, on(domain.ActionClick, town))
	if len(tr.Observation.Elements) != n+4 || !slices.Contains(find(t, tr, "town").State, "expanded") || !find(t, tr, "agree").Occluded || find(t, tr, "Name").Occluded {
		t.Errorf("the list is not open: %+v", tr.Observation.Elements)
	}
	if tr := step(t, e, on(domain.ActionClick, find(t, tr, "Rome"))); tr.Invalid == "" {
		t.Error("a disabled option can be chosen")
	}
	tr = step(t, e, on(domain.ActionClick, town))
	if tr = step(t, e, domain.Action{Type: domain.ActionBack}); len(tr.Observation.Elements) != n {
		t.Error("another action leaves the list open")
	}
	tr = step(t, e, on(domain.ActionClick, town))
	tr = step(t, e, on(domain.ActionClick, find(t, tr, want)))
	if len(tr.Observation.Elements) != n || find(t, tr, "town").Value != want {
		t.Errorf("%q is not chosen: %+v", want, tr.Observation.Elements)
	}
	var log []string
	if err := e.tab().Eval(t.Context(), "log", &log); err != nil || !slices.Equal(log[len(log)-2:], []string{"input town", "change town"}) {
		t.Errorf("%v, %v", log, err)
	}
	if tr = step(t, e, domain.Action{Type: domain.ActionInputText, Text: "nowhere"}.At(town.Index)); tr.Invalid == "" {
		t.Error("an option that is not there can be chosen")
	}
	step(t, e, domain.Action{Type: domain.ActionInputText, Text: "none"}.At(town.Index))
	tr = step(t, e, domain.Action{Type: domain.ActionInputText, Text: strings.ToLower(want)}.At(town.Index))
	if tr = step(t, e, on(domain.ActionClick, find(t, tr, "Submit"))); tr.Reward != 1 || !tr.Terminated {
		t.Errorf("%+v", tr)
	}
}

func TestTypedTextReplacesWhatAFieldHolds(t *testing.T) {
	for semantics, enter := range map[string]bool{Standard: false, Mobile: true} {
		_, e := open(t, own, semantics)
		tr := reset(t, e, "form", 1)
		tr = step(t, e, domain.Action{Type: domain.ActionInputText, Text: "Äda 2"}.At(find(t, tr, "Name").Index))
		if f := find(t, tr, "Name"); f.Value != "Äda 2" || !slices.Contains(f.State, "focused") {
			t.Errorf("%+v", f)
		}
		var log []string
		if err := e.tab().Eval(t.Context(), "log", &log); err != nil || slices.Contains(log, "keydown name Enter") != enter {
			t.Errorf("%s: %v, %v", semantics, log, err)
		}
		tr = step(t, e, domain.Action{Type: domain.ActionInputText, Text: "2/29/2024"}.At(find(t, tr, "day").Index))
		if find(t, tr, "day").Value != "2024-02-29" {
			t.Errorf("%+v", find(t, tr, "day"))
		}
		if tr = step(t, e, domain.Action{Type: domain.ActionInputText, Text: "tomorrow"}.At(find(t, tr, "day").Index)); tr.Invalid == "" || find(t, tr, "day").Value != "2024-02-29" {
			t.Errorf("%+v", tr)
		}
		tr = step(t, e, on(domain.ActionClick, find(t, tr, "agree")))
		if !slices.Contains(find(t, tr, "agree").State, "checked") {
			t.Errorf("%+v", find(t, tr, "agree"))
		}
		if tr = step(t, e, domain.Action{Type: domain.ActionInputText, Text: "x"}.At(find(t, tr, "Submit").Index)); tr.Invalid == "" {
			t.Error("a button takes text")
		}
	}
}

func TestTapsHitWhatIsNotCovered(t *testing.T) {
	_, e := open(t, own, "")
	tr := reset(t, e, "covered", 1)
	for name, want := range map[string][2]bool{"A": {true, false}, "B": {true, false}, "C": {true, true}, "D": {true, false}, "E": {false, false}} { // visible, occluded
		if x := find(t, tr, name); x.Visible != want[0] || x.Occluded != want[1] {
			t.Errorf("%s: %+v", name, x)
		}
	}
	for _, x := range tr.Observation.Elements {
		if strings.Contains(x.Text, "Last reward") || strings.Contains(x.Text, "Click A") || x.Text == "START" {
			t.Errorf("%q is listed", x.Text)
		}
	}
	if dot := find(t, tr, "blue circle dot"); dot.Role != "item" || dot.Bounds != (domain.Rect{3, 168, 18, 18}) && dot.Bounds[2] != 18 {
		t.Errorf("%+v", dot)
	}
	if tr := step(t, e, on(domain.ActionClick, find(t, tr, "E"))); tr.Invalid == "" {
		t.Error("what is not visible can be clicked")
	}
	for range 5 {
		tr = step(t, e, domain.Action{Type: domain.ActionScroll, Direction: "down"}.At(find(t, tr, "above").Index))
		if find(t, tr, "E").Visible {
			break
		}
	}
	if find(t, tr, "above").Visible && !find(t, tr, "E").Visible {
		t.Errorf("not scrolled: %+v", tr.Observation.Elements)
	}
	if tr = step(t, e, on(domain.ActionClick, find(t, tr, "A"))); tr.Reward != 1 {
		t.Errorf("a click on A hits something else: %+v", tr)
	}
}

func TestOnlyTheFullRewardIsASuccess(t *testing.T) {
	_, e := open(t, own, "")
	for name, raw := range map[string]float64{"1": 1, "0.5": 0.5, "0": 0, "-1": -1} {
		tr := step(t, e, on(domain.ActionClick, find(t, reset(t, e, "rewards", 1), name)))
		score, _ := e.Score(t.Context())
		if !tr.Terminated || score.Raw != raw || score.Success != (raw == 1) || (tr.Reward == 1) != (raw == 1) {
			t.Errorf("%s: %+v, %+v", name, tr, score)
		}
	}
	reset(t, e, "rewards", 1)
	tr := step(t, e, domain.Action{Type: domain.ActionStatus, GoalStatus: domain.StatusComplete})
	if score, _ := e.Score(t.Context()); !tr.Terminated || score.Success {
		t.Errorf("%+v, %+v", tr, score)
	}
}

func TestPagesCannotBlockOrLeave(t *testing.T) {
	_, e := open(t, own, "")
	tr := reset(t, e, "rewards", 1)
	tr = step(t, e, on(domain.ActionClick, find(t, tr, "away")))
	tr = step(t, e, domain.Action{Type: domain.ActionInputText, Text: "yes\n"}.At(find(t, tr, "field").Index))
	if tr.Reward != 1 {
		t.Errorf("%+v", tr)
	}
	tr = reset(t, e, "rewards", 1)
	if tr = step(t, e, on(domain.ActionClick, find(t, tr, "alert"))); tr.Reward != 1 {
		t.Errorf("%+v", tr)
	}
	tr = reset(t, e, "rewards", 1)
	if tr = step(t, e, on(domain.ActionClick, find(t, tr, "lost"))); tr.Terminated || tr.Invalid != "" {
		t.Errorf("a fault of a handler: %+v", tr)
	}
}

func TestAPageThatCannotBeginIsAtFaultItself(t *testing.T) {
	s, e := open(t, own, "")
	_, err := e.Reset(t.Context(), domain.Task{Template: "faulty", Split: SplitAll, Seed: 1, MaxSteps: 3})
	if !errors.Is(err, envadapters.ErrTask) || !strings.Contains(err.Error(), "no problem") {
		t.Errorf("%v", err)
	}
	e.Close(t.Context())
	again, err := s.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close(t.Context())
	reset(t, again.(*environment), "form", 1)
}

func TestABrowserThatDiesIsAVoidEpisodeAndTheNextOneBeginsAnother(t *testing.T) {
	s, err := New(envadapters.Options{Data: own}, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var b *browser.Browser
	for range 2 {
		e, err := s.Open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		reset(t, e.(*environment), "form", 1)
		b = e.(*environment).place.Browser
		// The whole group: the program that was started may be a wrapper.
		if err := syscall.Kill(-b.Pid(), syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		if _, err := e.Step(t.Context(), domain.Action{Type: domain.ActionWait}); fault.KindOf(err) != fault.Void || errors.Is(err, envadapters.ErrTask) {
			t.Errorf("%v", err)
		}
		e.Close(t.Context())
	}
	if n := b.Starts(); n != 2 {
		t.Errorf("%d starts", n)
	}
}

func TestMobileSemantics(t *testing.T) {
	s, e := open(t, own, Mobile)
	if s.Title() != "MiniWoB++ (Chromium, mobile semantics)" || s.Family() != domain.FamilyMobile {
		t.Error(s.Title())
	}
	if ts, _ := s.Templates(SplitAll); ts[0].MaxSteps != 30 {
		t.Errorf("%+v", ts[0])
	}
	tr := reset(t, e, "rewards", 1)
	if tr.Goal != "Follow the instructions shown on the top of the screen: Take the best." || tr.Observation.Width != 216 || tr.Observation.Height != 480 {
		t.Errorf("%+v", tr)
	}
	for _, a := range []domain.Action{{Type: domain.ActionAnswer, Text: "x"}, {Type: domain.ActionOpenApp, AppName: "x"}} {
		if tr := step(t, e, a); tr.Invalid == "" || tr.Terminated {
			t.Errorf("%s: %+v", a.JSON(), tr)
		}
	}
	if tr = step(t, e, domain.Action{Type: domain.ActionInputText, Text: "yes"}.At(find(t, tr, "field").Index)); tr.Reward != 1 || !tr.Terminated {
		t.Errorf("Enter does not follow typed text: %+v", tr)
	}
	tr = reset(t, e, "rewards", 1)
	if tr = step(t, e, on(domain.ActionClick, find(t, tr, "0.5"))); !tr.Terminated || tr.Reward != 0 {
		t.Errorf("%+v", tr)
	}
	reset(t, e, "rewards", 1)
	if tr = step(t, e, domain.Action{Type: domain.ActionHome}); !tr.Terminated || tr.Reward != 0 {
		t.Errorf("%+v", tr)
	}
	if _, err := e.Step(t.Context(), domain.Action{Type: domain.ActionWait}); err == nil {
		t.Error("the app can be used behind its end")
	}
}

func TestSeedsAndSplitsMakeEpisodesAndNothingElseDoes(t *testing.T) {
	s, e := open(t, own, "")
	other, err := s.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close(t.Context())
	reset(t, other.(*environment), "covered", 9)
	goals := map[string]bool{}
	for seed := range uint64(6) {
		tr := reset(t, e, "form", seed)
		goals[tr.Goal] = true
		if again := reset(t, other.(*environment), "form", seed); !reflect.DeepEqual(again, tr) {
			t.Errorf("seed %d: another tab sees another episode", seed)
		}
	}
	if len(goals) < 2 {
		t.Errorf("%v", goals)
	}
	for _, split := range []string{domain.SplitTrain, domain.SplitTestSeeds, domain.SplitTestTemplates} {
		if tr, err := e.Reset(t.Context(), domain.Task{Template: "form", Split: split, Seed: 1, MaxSteps: 3}); err == nil {
			var mode string
			if err := e.tab().Eval(t.Context(), "WOB_DATA_MODE", &mode); err != nil || (mode == "train") != (split == domain.SplitTrain) {
				t.Errorf("split %s: mode %s, %v, %s", split, mode, err, tr.Goal)
			}
		}
	}
}

func TestImagesOfStyleSheetsAreThereAndTimeStandsStill(t *testing.T) {
	_, e := open(t, own, "")
	tr := reset(t, e, "icons", 1)
	icon := find(t, tr, "trash")
	if icon.Bounds[2] != 14 || icon.Role != "item" {
		t.Errorf("%+v", icon)
	}
	late := tr.Observation.Elements[len(tr.Observation.Elements)-1].Text
	if !strings.HasPrefix(late, "frame 32 at 1704067200496 ") {
		t.Errorf("%q", late)
	}
	time.Sleep(50 * time.Millisecond)
	tr = step(t, e, domain.Action{Type: domain.ActionNone})
	if now := tr.Observation.Elements[len(tr.Observation.Elements)-1].Text; now != late {
		t.Errorf("%q, then %q", late, now)
	}
	if tr = step(t, e, on(domain.ActionClick, icon)); tr.Reward != 1 {
		t.Errorf("%+v", tr)
	}
}

// BenchmarkObservation reads a page of n buttons and fields. In the page that is linear, at most 20 µs for each; ms/observation is with the way to this process.
func BenchmarkObservation(b *testing.B) {
	for _, n := range []int{10, 100, 500, 2000} {
		reads := 10000 / n // in the page, of one call
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			_, e := open(b, own, "")
			reset(b, e, "form", 1)
			fill := fmt.Sprintf(`(() => { const a = document.getElementById('area'); a.textContent = '';
				for (let i = 0; i < %d; i++) { const x = a.appendChild(document.createElement(i %% 2 ? 'input' : 'button')); x.style.cssText = 'width: 20px; height: 12px; padding: 0';
				if (i %% 2) x.value = 'v' + i; else { x.textContent = 'b' + i; x.onclick = () => 0; } } })()`, n)
			again := fmt.Sprintf("(() => { for (let i = 0; i < %d; i++) collabui.observe() })()", reads)
			for _, js := range []string{fill, again, again} { // the second time the script is compiled
				if err := e.tab().Eval(b.Context(), js, nil); err != nil {
					b.Fatal(err)
				}
			}
			page, all := time.Hour, time.Hour // the least, because other work on the machine only adds
			for b.Loop() {
				begin := time.Now()
				if err := e.tab().Eval(b.Context(), again, nil); err != nil {
					b.Fatal(err)
				}
				page = min(page, time.Since(begin))
				begin = time.Now()
				if err := e.observe(b.Context()); err != nil {
					b.Fatal(err)
				}
				all = min(all, time.Since(begin))
			}
			if len(e.seen.Elements) != n {
				b.Fatalf("%d elements of %d", len(e.seen.Elements), n)
			}
			b.ReportMetric(float64(page.Nanoseconds())/1e3/float64(n*reads), "µs/element")
			b.ReportMetric(float64(all.Nanoseconds())/1e6, "ms/observation")
		})
	}
}
