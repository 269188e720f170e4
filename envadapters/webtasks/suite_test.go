package webtasks

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
)

var (
	_ envadapters.Suite         = (*Suite)(nil)
	_ envadapters.Judge         = (*environment)(nil)
	_ envadapters.Replayable    = (*environment)(nil)
	_ envadapters.Screenshotter = (*environment)(nil)
)

func open(t testing.TB, groups ...string) (*Suite, *environment) {
	t.Helper()

	s, err := New(envadapters.Options{Groups: groups}, 1, 2)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })

	e, err := s.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close(context.Background()) })

	return s, e.(*environment)
}

// onAPage resets the simplest task and returns its environment.
func onAPage(t testing.TB) *environment {
	t.Helper()

	_, e := open(t)
	task := domain.Task{Template: "tap-button", Split: domain.SplitTrain, Seed: 1, MaxSteps: 3}
	if _, err := e.Reset(t.Context(), task); err != nil {
		t.Fatal(err)
	}

	return e
}

func TestTemplateTableIsThePages(t *testing.T) {
	e := onAPage(t)

	var got, want []templateInfo
	if err := e.Tab().Eval(t.Context(), "kit.list()", &got); err != nil {
		t.Fatal(err)
	}

	raw, _ := pages.ReadFile("pages/templates.json")
	if err := json.Unmarshal(raw, &want); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("the pages define %v, want pages/templates.json: %v", got, want)
	}
}

func TestWordPoolsOfSplitsAreDisjoint(t *testing.T) {
	e := onAPage(t)

	var got map[string]map[string][]string
	if err := e.Tab().Eval(t.Context(), "pools", &got); err != nil {
		t.Fatal(err)
	}

	isTest := func(split string) bool { return strings.HasPrefix(split, "test") }
	owner := map[string]string{}
	for split, kinds := range got {
		for kind, words := range kinds {
			if len(words) < 4 {
				t.Errorf("%s has %d words of kind %s, want at least 4", split, len(words), kind)
			}

			for _, w := range words {
				other, ok := owner[kind+" "+w]
				if ok && other != split && !(isTest(other) && isTest(split)) {
					t.Errorf("%s %q is in %s and in %s, want it in one of them", kind, w, other, split)
				}
				owner[kind+" "+w] = split
			}
		}
	}

	if len(got) != len(splits) {
		t.Errorf("%d pools, want one for each of %v", len(got), splits)
	}
	if len(owner) < 200 {
		t.Errorf("%d words in all, want at least 200", len(owner))
	}
}

func TestDescriptionsAreObserved(t *testing.T) {
	e := onAPage(t)

	const want = "ends the page"
	var seen pageState
	js := `(() => { document.querySelector('#app button').title = '` + want + `'; return kit.observe() })()`
	if err := e.Tab().Eval(t.Context(), js, &seen); err != nil {
		t.Fatal(err)
	}

	if !slices.ContainsFunc(seen.Elements, func(x domain.Element) bool { return x.Desc == want }) {
		t.Errorf("elements %+v, want one with the description %q", seen.Elements, want)
	}
}

// play lets the expert play one episode. It returns the transitions as JSON and whether the goal was reached.
func play(t *testing.T, e *environment, task domain.Task) (seen []string, solved bool) {
	t.Helper()

	name := fmt.Sprintf("%s %s %d", task.Template, task.Split, task.Seed)
	tr, err := e.Reset(t.Context(), task)
	if err != nil {
		t.Fatalf("reset %s: got %v, want no error", name, err)
	}

	for {
		b, _ := json.Marshal(tr)
		seen = append(seen, string(b))
		if tr.Terminated || tr.Truncated {
			break
		}

		right := e.Right()
		if len(right) == 0 {
			t.Fatalf("%s, step %d: got no right action, want one: %s", name, len(seen), b)
		}
		if a, ok := e.Advise(); !ok || !reflect.DeepEqual(a, right[0]) {
			t.Fatalf("%s: the expert does %+v, want %+v", name, a, right[0])
		}

		if tr, err = e.Step(t.Context(), right[int(task.Seed)%len(right)]); err != nil {
			t.Fatal(err)
		}
		if tr.Invalid != "" {
			t.Fatalf("%s: the expert's action is invalid (%s), want a valid one", name, tr.Invalid)
		}
	}

	sc, _ := e.Score(t.Context())

	return seen, sc.Success
}

func TestExpertSolvesEveryTemplateInItsBudgetAndEpisodesReplayBitForBit(t *testing.T) {
	s, e := open(t, GroupApps, GroupWidgets, GroupTwoPlaces)
	other, err := s.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close(t.Context())

	start, steps, episodes := time.Now(), 0, 0
	check := func(t *testing.T, task domain.Task) {
		t.Helper()

		seen, ok := play(t, e, task)
		if last := len(seen) - 1; !ok {
			t.Errorf("seed %d: the expert failed after %d steps, want success: %s\n%s",
				task.Seed, last, seen[0], seen[last])
		}

		steps += len(seen) - 1
		episodes++
		if task.Seed != 0 {
			return
		}

		if again, _ := play(t, other.(*environment), task); !reflect.DeepEqual(again, seen) {
			t.Errorf("another tab sees %s, want %s", again, seen)
		}
	}

	for _, split := range splits {
		ts, err := s.Templates(split)
		if err != nil {
			t.Fatal(err)
		}

		for _, x := range ts {
			t.Run(split+"/"+x.Name, func(t *testing.T) {
				for seed := range uint64(4) {
					task := domain.Task{Template: x.Name, Split: split, Seed: seed * 7919, MaxSteps: x.MaxSteps}
					check(t, task)
				}
			})
		}
	}

	t.Logf("%d episodes, %.1f steps each, %.0f steps/s",
		episodes, float64(steps)/float64(episodes), float64(steps)/time.Since(start).Seconds())
}

func TestEveryScreenHasAScreenshotInSeveralTabsAtTheSameTime(t *testing.T) {
	const tabs = 3

	s, err := New(envadapters.Options{}, 1, tabs)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })

	all, err := s.Templates(domain.SplitTrain)
	if err != nil {
		t.Fatal(err)
	}

	var wg sync.WaitGroup
	for k := range tabs {
		wg.Go(func() {
			e, err := s.Open(t.Context())
			if err != nil {
				t.Error(err)
				return
			}
			defer e.Close(context.Background())

			for i := k; i < len(all); i += tabs {
				x := all[i]
				task := domain.Task{Template: x.Name, Split: domain.SplitTrain, Seed: uint64(i), MaxSteps: x.MaxSteps}
				if err := shoot(t.Context(), e, task); err != nil {
					t.Errorf("%s: got %v, want a screenshot at every step", x.Name, err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// shoot plays an episode and takes a screenshot before every step.
func shoot(ctx context.Context, e envadapters.Environment, task domain.Task) error {
	tr, err := e.Reset(ctx, task)
	for err == nil && !tr.Terminated && !tr.Truncated {
		png, failed := e.(envadapters.Screenshotter).Screenshot(ctx)
		if failed != nil || len(png) < 1000 {
			return fmt.Errorf("%d bytes: %w", len(png), failed)
		}

		tr, err = e.Step(ctx, e.(envadapters.Judge).Right()[0])
	}

	return err
}
