package webtasks

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
)

func open(t *testing.T) (*Suite, *environment) {
	t.Helper()
	s, err := New(1, 2)
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

func TestTemplateTableIsThePages(t *testing.T) {
	_, e := open(t)
	if _, err := e.Reset(t.Context(), domain.Task{Template: "tap-button", Split: domain.SplitTrain, Seed: 1, MaxSteps: 3}); err != nil {
		t.Fatal(err)
	}
	var got, want []templateInfo
	if err := e.tab().Eval(t.Context(), "kit.list()", &got); err != nil {
		t.Fatal(err)
	}
	raw, _ := pages.ReadFile("pages/templates.json")
	if err := json.Unmarshal(raw, &want); err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("pages/templates.json is not what the pages define (%v): %v", err, got)
	}
}

func TestWordPoolsOfSplitsAreDisjoint(t *testing.T) {
	_, e := open(t)
	if _, err := e.Reset(t.Context(), domain.Task{Template: "tap-button", Split: domain.SplitTrain, Seed: 1, MaxSteps: 3}); err != nil {
		t.Fatal(err)
	}
	var got map[string]map[string][]string
	if err := e.tab().Eval(t.Context(), "pools", &got); err != nil {
		t.Fatal(err)
	}
	owner := map[string]string{}
	for split, kinds := range got {
		for kind, words := range kinds {
			if len(words) < 4 {
				t.Errorf("%s has only %d words of kind %s", split, len(words), kind)
			}
			for _, w := range words {
				other, ok := owner[kind+" "+w]
				if ok && other != split && !(strings.HasPrefix(other, "test") && strings.HasPrefix(split, "test")) {
					t.Errorf("%s %q stands in %s and in %s", kind, w, other, split)
				}
				owner[kind+" "+w] = split
			}
		}
	}
	if len(got) != len(domain.Splits) || len(owner) < 200 {
		t.Errorf("%d pools with %d words", len(got), len(owner))
	}
}

func TestDescriptionsAreObserved(t *testing.T) {
	_, e := open(t)
	if _, err := e.Reset(t.Context(), domain.Task{Template: "tap-button", Split: domain.SplitTrain, Seed: 1, MaxSteps: 3}); err != nil {
		t.Fatal(err)
	}
	var seen pageState
	if err := e.tab().Eval(t.Context(), `(() => { document.querySelector('#app button').title = 'ends the page'; return kit.observe() })()`, &seen); err != nil {
		t.Fatal(err)
	}
	for _, x := range seen.Elements {
		if x.Desc == "ends the page" {
			return
		}
	}
	t.Errorf("%+v", seen.Elements)
}

// play lets the expert play one episode and returns the digests of what was seen.
func play(t *testing.T, e *environment, task domain.Task) ([]string, bool) {
	t.Helper()
	tr, err := e.Reset(t.Context(), task)
	if err != nil {
		t.Fatalf("%s %s %d: %v", task.Template, task.Split, task.Seed, err)
	}
	b, _ := json.Marshal(tr)
	seen := []string{string(b)}
	for !tr.Terminated && !tr.Truncated {
		right := e.Right()
		if len(right) == 0 {
			t.Fatalf("%s %s %d, step %d: the judge knows no right action: %s", task.Template, task.Split, task.Seed, e.steps, b)
		}
		if a, ok := e.Advise(); !ok || !reflect.DeepEqual(a, right[0]) {
			t.Fatalf("the expert does %+v, right is %+v", a, right)
		}
		if tr, err = e.Step(t.Context(), right[int(task.Seed)%len(right)]); err != nil {
			t.Fatal(err)
		}
		if tr.Invalid != "" {
			t.Fatalf("%s: the expert's action is invalid: %s", task.Template, tr.Invalid)
		}
		b, _ = json.Marshal(tr)
		seen = append(seen, string(b))
	}
	sc, _ := e.Score(t.Context())
	return seen, sc.Success
}

func TestExpertSolvesEveryTemplateInItsBudgetAndEpisodesReplayBitForBit(t *testing.T) {
	s, e := open(t)
	other, err := s.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close(t.Context())
	start, steps, episodes := time.Now(), 0, 0
	for _, split := range domain.Splits {
		ts, err := s.Templates(split)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range ts {
			for seed := range uint64(4) {
				task := domain.Task{Template: x.Name, Split: split, Seed: seed * 7919, MaxSteps: x.MaxSteps}
				seen, ok := play(t, e, task)
				if !ok {
					t.Errorf("%s %s %d: the expert failed after %d steps: %s\n%s", x.Name, split, task.Seed, len(seen)-1, seen[0], seen[len(seen)-1])
				}
				steps += len(seen) - 1
				episodes++
				if seed == 0 {
					if again, _ := play(t, other.(*environment), task); !reflect.DeepEqual(again, seen) {
						t.Errorf("%s %s: another tab sees another episode", x.Name, split)
					}
				}
			}
		}
	}
	t.Logf("%d episodes, %.1f steps each, %.0f steps/s", episodes, float64(steps)/float64(episodes), float64(steps)/time.Since(start).Seconds())
}

var _ envadapters.Suite = (*Suite)(nil)
var _ envadapters.Judge = (*environment)(nil)
var _ envadapters.Replayable = (*environment)(nil)
var _ envadapters.Screenshotter = (*environment)(nil)

// TestEveryScreenGivesAScreenshot: in several tabs at once, at every step of every template.
func TestEveryScreenGivesAScreenshot(t *testing.T) {
	s, err := New(1, 3)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	all, err := s.Templates(domain.SplitTrain)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for k := range 3 {
		wg.Go(func() {
			e, err := s.Open(t.Context())
			if err != nil {
				t.Error(err)
				return
			}
			defer e.Close(context.Background())
			for i := k; i < len(all); i += 3 {
				if err := shoot(t, e, domain.Task{Template: all[i].Name, Split: domain.SplitTrain, Seed: uint64(i), MaxSteps: all[i].MaxSteps}); err != nil {
					t.Errorf("%s: %v", all[i].Name, err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// shoot plays an episode with a screenshot at every step.
func shoot(t *testing.T, e envadapters.Environment, task domain.Task) error {
	tr, err := e.Reset(t.Context(), task)
	for ; err == nil && !tr.Terminated && !tr.Truncated; tr, err = e.Step(t.Context(), e.(envadapters.Judge).Right()[0]) {
		if png, err := e.(envadapters.Screenshotter).Screenshot(t.Context()); err != nil || len(png) < 1000 {
			return fmt.Errorf("%d bytes: %w", len(png), err)
		}
	}
	return err
}

// BenchmarkObservation reads a page of n buttons and fields: linear, at most 20 µs for each in the page; ms/observation is with the way to this process.
func BenchmarkObservation(b *testing.B) {
	for _, n := range []int{10, 100, 500, 2000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s, err := New(1, 1)
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = s.Close() }()
			x, err := s.Open(b.Context())
			if err != nil {
				b.Fatal(err)
			}
			defer x.Close(b.Context())
			e := x.(*environment)
			if _, err := e.Reset(b.Context(), domain.Task{Template: "tap-button", Split: domain.SplitTrain, Seed: 1, MaxSteps: 3}); err != nil {
				b.Fatal(err)
			}
			reads := 10000 / n // in the page, of one call
			fill := fmt.Sprintf(`(() => { const a = document.getElementById('app'); a.textContent = '';
				for (let i = 0; i < %d; i++) { const x = a.appendChild(document.createElement(i %% 2 ? 'input' : 'button'));
				if (i %% 2) { x.value = 'v' + i; x.dataset.k = 'k' + i; x.setAttribute('aria-label', 'f' + i); } else x.textContent = 'b' + i; } })()`, n)
			again := fmt.Sprintf("(() => { for (let i = 0; i < %d; i++) kit.observe() })()", reads)
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
				if err := e.eval(b.Context(), "kit.observe()"); err != nil {
					b.Fatal(err)
				}
				all = min(all, time.Since(begin))
			}
			if len(e.page.Elements) != n {
				b.Fatalf("%d elements of %d", len(e.page.Elements), n)
			}
			b.ReportMetric(float64(page.Nanoseconds())/1e3/float64(n*reads), "µs/element")
			b.ReportMetric(float64(all.Nanoseconds())/1e6, "ms/observation")
		})
	}
}
