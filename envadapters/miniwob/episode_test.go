package miniwob

import (
	"errors"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/envadapters/browser"
	"github.com/collabui/collabui/fault"
)

// wantReward checks the reward of a step and whether it ended the episode.
func wantReward(t *testing.T, tr envadapters.Transition, reward float64, terminated bool) {
	t.Helper()

	if tr.Reward != reward || tr.Terminated != terminated {
		t.Errorf("reward %v, terminated %v, want %v, %v: %+v", tr.Reward, tr.Terminated, reward, terminated, tr)
	}
}

// wantInvalid checks that an action was not executed.
func wantInvalid(t *testing.T, tr envadapters.Transition, what string) {
	t.Helper()

	if tr.Invalid == "" {
		t.Errorf("%s: the action was executed, want it to be invalid", what)
	}
}

// wantElements checks the number of elements.
func wantElements(t *testing.T, tr envadapters.Transition, n int) {
	t.Helper()

	if len(tr.Observation.Elements) != n {
		t.Errorf("%d elements, want %d: %+v", len(tr.Observation.Elements), n, tr.Observation.Elements)
	}
}

func TestOnlyTheFullRewardIsASuccess(t *testing.T) {
	_, e := open(t, own, "")
	for name, raw := range map[string]float64{"1": 1, "0.5": 0.5, "0": 0, "-1": -1} {
		tr := step(t, e, on(domain.ActionClick, find(t, reset(t, e, "rewards", 1), name)))
		score, _ := e.Score(t.Context())
		if want := (envadapters.Score{Success: raw == 1, Raw: raw}); !reflect.DeepEqual(score, want) {
			t.Errorf("%s: the score is %+v, want %+v", name, score, want)
		}
		if !tr.Terminated || (tr.Reward == 1) != (raw == 1) {
			t.Errorf("%s: got %+v, want the end and reward 1 for the full raw reward only", name, tr)
		}
	}

	reset(t, e, "rewards", 1)
	tr := step(t, e, domain.Action{Type: domain.ActionStatus, GoalStatus: domain.StatusComplete})
	if score, _ := e.Score(t.Context()); !tr.Terminated || score.Success {
		t.Errorf("after the agent's own word: %+v, score %+v, want the end without success", tr, score)
	}
}

func TestPagesCannotBlockOrLeave(t *testing.T) {
	_, e := open(t, own, "")
	tr := reset(t, e, "rewards", 1)
	tr = step(t, e, on(domain.ActionClick, find(t, tr, "away")))
	tr = step(t, e, domain.Action{Type: domain.ActionInputText, Text: "yes\n"}.At(find(t, tr, "field").Index))
	if tr.Reward != 1 {
		t.Errorf("after a link and a form: reward %v, want 1: %+v", tr.Reward, tr)
	}

	tr = reset(t, e, "rewards", 1)
	if tr = step(t, e, on(domain.ActionClick, find(t, tr, "alert"))); tr.Reward != 1 {
		t.Errorf("after a dialog: reward %v, want 1: %+v", tr.Reward, tr)
	}

	tr = reset(t, e, "rewards", 1)
	if tr = step(t, e, on(domain.ActionClick, find(t, tr, "lost"))); tr.Terminated || tr.Invalid != "" {
		t.Errorf("after an error in a handler: %+v, want the episode to go on", tr)
	}
}

func TestAPageThatCannotBeginIsAtFaultItself(t *testing.T) {
	s, e := open(t, own, "")
	_, err := e.Reset(t.Context(), domain.Task{Template: "faulty", Split: SplitAll, Seed: 1, MaxSteps: 3})
	if !errors.Is(err, envadapters.ErrTask) || !strings.Contains(err.Error(), "no problem") {
		t.Errorf("reset = %v, want %v with the text of the page's own error", err, envadapters.ErrTask)
	}
	e.Close(t.Context())

	again, err := s.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close(t.Context())
	reset(t, again.(*environment), "form", 1)
}

func TestADeadBrowserVoidsTheEpisodeAndTheNextOneStartsAnother(t *testing.T) {
	s, err := New(envadapters.Options{Data: own}, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()

	var b *browser.Browser
	for range 2 {
		e, err := s.Open(t.Context())
		if err != nil {
			t.Fatal(err)
		}

		reset(t, e.(*environment), "form", 1)
		b = e.(*environment).Place.Browser
		// Kill the whole group, because the program that was started may be a wrapper.
		if err := syscall.Kill(-b.Pid(), syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}

		_, err = e.Step(t.Context(), domain.Action{Type: domain.ActionWait})
		if fault.KindOf(err) != fault.Void || errors.Is(err, envadapters.ErrTask) {
			t.Errorf("step = %v, want a void fault that is not the task's", err)
		}
		e.Close(t.Context())
	}

	if n := b.Starts(); n != 2 {
		t.Errorf("the browser was started %d times, want 2", n)
	}
}

func TestMobileSemanticsDescribeAPhone(t *testing.T) {
	s, e := open(t, own, Mobile)
	if want := "MiniWoB++ (Chromium, mobile semantics)"; s.Title() != want {
		t.Errorf("Title() = %q, want %q", s.Title(), want)
	}
	if s.Family() != domain.FamilyMobile {
		t.Errorf("Family() = %q, want %q", s.Family(), domain.FamilyMobile)
	}
	if ts, _ := s.Templates(SplitAll); ts[0].MaxSteps != 30 {
		t.Errorf("the budget of %+v is %d, want 30", ts[0], ts[0].MaxSteps)
	}

	tr := reset(t, e, "rewards", 1)
	if want := mobileGoal + "Take the best."; tr.Goal != want {
		t.Errorf("the goal is %q, want %q", tr.Goal, want)
	}
	if o := tr.Observation; o.Width != 216 || o.Height != 480 {
		t.Errorf("the screen is %dx%d, want 216x480", o.Width, o.Height)
	}
}

func TestMobileSemanticsOfActions(t *testing.T) {
	_, e := open(t, own, Mobile)
	tr := reset(t, e, "rewards", 1)
	for _, a := range []domain.Action{
		{Type: domain.ActionAnswer, Text: "x"},
		{Type: domain.ActionOpenApp, AppName: "x"},
	} {
		tr := step(t, e, a)
		wantInvalid(t, tr, a.JSON())
		wantReward(t, tr, 0, false)
	}

	// Enter follows typed text.
	write := domain.Action{Type: domain.ActionInputText, Text: "yes"}.At(find(t, tr, "field").Index)
	wantReward(t, step(t, e, write), 1, true)

	tr = reset(t, e, "rewards", 1)
	wantReward(t, step(t, e, on(domain.ActionClick, find(t, tr, "0.5"))), 0, true)

	reset(t, e, "rewards", 1)
	wantReward(t, step(t, e, domain.Action{Type: domain.ActionHome}), 0, true)
	if _, err := e.Step(t.Context(), domain.Action{Type: domain.ActionWait}); err == nil {
		t.Error("a step after the end is executed, want an error")
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
			t.Errorf("seed %d: another tab sees %+v, want %+v", seed, again, tr)
		}
	}
	if len(goals) < 2 {
		t.Errorf("six seeds make the goals %v, want different ones", goals)
	}

	for split, want := range map[string]string{
		domain.SplitTrain:         "train",
		domain.SplitTestSeeds:     "test",
		domain.SplitTestTemplates: "test",
	} {
		task := domain.Task{Template: "form", Split: split, Seed: 1, MaxSteps: 3}
		if _, err := e.Reset(t.Context(), task); err != nil {
			continue // the split does not contain the task
		}

		var mode string
		if err := e.eval(t.Context(), "WOB_DATA_MODE", &mode); err != nil {
			t.Fatal(err)
		}
		if (mode == "train") != (want == "train") {
			t.Errorf("split %s: the data mode is %s, want %s", split, mode, want)
		}
	}
}

func TestStyleSheetImagesAreLoadedAndTimeStandsStill(t *testing.T) {
	_, e := open(t, own, "")
	last := func(tr envadapters.Transition) string {
		return tr.Observation.Elements[len(tr.Observation.Elements)-1].Text
	}

	tr := reset(t, e, "icons", 1)
	icon := find(t, tr, "trash")
	if icon.Bounds[2] != 14 || icon.Role != "item" {
		t.Errorf("the icon is %+v, want an item 14 pixels wide", icon)
	}
	before := last(tr)
	if want := "frame 32 at 1704067200496 "; !strings.HasPrefix(before, want) {
		t.Errorf("the page says %q, want %q first", before, want)
	}

	time.Sleep(50 * time.Millisecond)
	tr = step(t, e, domain.Action{Type: domain.ActionNone})
	if got := last(tr); got != before {
		t.Errorf("after a while the page says %q, want %q", got, before)
	}
	if tr = step(t, e, on(domain.ActionClick, icon)); tr.Reward != 1 {
		t.Errorf("the reward of a click on the icon is %v, want 1: %+v", tr.Reward, tr)
	}
}

func TestFilesThatTheBrowserCannotFetchAreNotTheTasksFault(t *testing.T) {
	s, err := New(envadapters.Options{Data: own}, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	e, err := s.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close(t.Context())
	reset(t, e.(*environment), "form", 1)

	_ = s.server.Close()
	_, err = e.Reset(t.Context(), s.task("rewards", 1))
	if err == nil || errors.Is(err, envadapters.ErrTask) || fault.KindOf(err) != fault.Void {
		t.Errorf("reset = %v, want a void fault that is not the task's", err)
	}
}

func TestAnEpisodeBeginsWithFreshGlobals(t *testing.T) {
	_, e := open(t, own, "")
	reset(t, e, "form", 1)
	stain := "window.stain = Array.prototype.stain = 1; document.title = 'stain'; setTimeout(() => { stain = 2 }, 1)"
	if err := e.eval(t.Context(), stain, nil); err != nil {
		t.Fatal(err)
	}

	reset(t, e, "form", 1)
	var found []string
	look := "[typeof stain, typeof [].stain, document.title, String(parent.frames.length)]"
	if err := e.eval(t.Context(), look, &found); err != nil {
		t.Fatal(err)
	}
	if found[0] != "undefined" || found[1] != "undefined" || found[2] == "stain" || found[3] != "1" {
		t.Errorf("the next episode finds %q, want nothing of the one before and one frame", found)
	}
}
