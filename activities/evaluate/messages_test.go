package evaluate

import (
	"fmt"
	"testing"

	"github.com/collabui/collabui/activities"
	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
)

// donated records episodes of a system with the given templates, in which every agent answers with the number of the
// episode, and returns the item of a way that reads them. An empty template stands for an episode without steps.
func donated(t *testing.T, r *Rollouts, way, environment string, templates ...string) rules.EvalItem {
	t.Helper()
	kind := rules.SystemKind{Of: rules.OfTrained, Way: way}
	system, err := kind.System(spec.Default(), []string{"a", "b", "c", "d"})
	if err != nil {
		t.Fatal(err)
	}
	item := rules.EvalItem{
		Run: "r", Folder: rules.ExperimentFolder, System: system, Split: domain.SplitTestSeeds,
		Environment: environment, Episodes: len(templates),
	}
	donor := item
	donor.System.Name = rules.OfTrained
	for i, template := range templates {
		episode := runs.EvalEpisode{Task: domain.Task{Template: template, Seed: uint64(i)}}
		if template != "" {
			var cells []runs.EvalCell
			for agent := range 4 {
				cells = append(cells, runs.EvalCell{Agent: agent, Text: fmt.Sprint("episode ", i)})
			}
			episode.Steps = []runs.EvalStep{{Cells: cells}}
		}
		_, _, err := runs.Run("r").EvalEpisode(donor.ID(), i+1).Record(t.Context(), r.Bucket,
			func() (runs.EvalEpisode, error) { return episode, nil })
		if err != nil {
			t.Fatal(err)
		}
	}

	return item
}

func TestShuffledMessagesComeFromAnotherTaskOfTheTemplate(t *testing.T) {
	for name, c := range map[string]struct {
		environment string
		templates   []string
		episode     int
		want        string
	}{
		"of the same template":              {"", []string{"a", "b", "c", "a"}, 0, "episode 3"},
		"the next one, round the end":       {"", []string{"a", "a", "b", "a"}, 3, "episode 0"},
		"not one without messages":          {"", []string{"a", "", "b", "a"}, 0, "episode 3"},
		"of another template if none other": {"", []string{"a", "", "b", "c"}, 0, "episode 2"},
		"in another environment":            {"other", []string{"a", "b", "a"}, 0, "episode 2"},
	} {
		t.Run(name, func(t *testing.T) {
			r := &Rollouts{Common: activities.Common{Bucket: &store.Memory{}}}
			item := donated(t, r, rules.WayShuffled, c.environment, c.templates...)
			said, err := r.heard(t.Context(), spec.Default(), item, c.episode)
			if err != nil {
				t.Fatal(err)
			}
			for agent := range 4 {
				if got := said(1, domain.Cell{Agent: agent, Text: "own"}); got != c.want {
					t.Errorf("agent %d is heard with %q, want %q", agent, got, c.want)
				}
			}
		})
	}
}

func TestOnlyTheLiarIsHeardWithAnotherTasksMessages(t *testing.T) {
	r := &Rollouts{Common: activities.Common{Bucket: &store.Memory{}}}
	templates := []string{"a", "b", "a", "b", "a", "b", "a", "b"}
	item := donated(t, r, rules.WayLiar, "", templates...)
	liars := map[int]bool{}
	for i := range templates {
		said, err := r.heard(t.Context(), spec.Default(), item, i)
		if err != nil {
			t.Fatal(err)
		}
		liar := rules.Liar(spec.Default(), item, i)
		liars[liar] = true
		for agent := range 4 {
			want := "own"
			if agent == liar {
				want = fmt.Sprint("episode ", (i+2)%len(templates))
			}
			if got := said(1, domain.Cell{Agent: agent, Text: "own"}); got != want {
				t.Errorf("episode %d with liar %d: agent %d is heard with %q, want %q", i, liar, agent, got, want)
			}
		}
	}
	if len(liars) < 2 {
		t.Errorf("the liars of %d episodes are %v, want several agents", len(templates), liars)
	}
}

func TestOtherSystemsAreHeardAsTheySpeak(t *testing.T) {
	r := &Rollouts{Common: activities.Common{Bucket: &store.Memory{}}}
	item := rules.EvalItem{Run: "r", System: rules.EvalSystem{Name: rules.OfTrained}, Episodes: 2}
	if said, err := r.heard(t.Context(), spec.Default(), item, 0); said != nil || err != nil {
		t.Errorf("heard returns a function or %v, want neither", err)
	}
}
