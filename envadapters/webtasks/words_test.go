package webtasks

import (
	"slices"
	"strings"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
)

func TestMadeUpWordsAreOfTrainingTasksOnly(t *testing.T) {
	usual := episodes(t, FromPools)
	for task, seen := range episodes(t, MadeUp) {
		ours := task.Split != domain.SplitTrain || task.Template == "stepper" // words that are in no pool
		if same := slices.Equal(seen, usual[task]); same != ours {
			t.Errorf("%s, %s: the same as without made-up words: %t, want that of other splits and of stepper only: %s",
				task.Template, task.Split, same, seen[0])
		}
	}
}

// episodes plays a task of every template of every split. The expert must solve all of them.
func episodes(t *testing.T, words string) map[domain.Task][]string {
	t.Helper()

	s, err := New(envadapters.Options{Words: words}, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	e, err := s.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close(t.Context())

	out := map[domain.Task][]string{}
	for _, split := range s.Splits() {
		templates, err := s.Templates(split)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range templates {
			task := domain.Task{Template: x.Name, Split: split, Seed: 3, MaxSteps: x.MaxSteps}
			seen, solved := play(t, e.(*environment), task)
			if !solved {
				t.Errorf("%s with %s words: the expert failed, want success: %s", x.Name, words, seen)
			}
			out[task] = seen
		}
	}

	return out
}

func TestUnknownWordsAreRefused(t *testing.T) {
	_, err := New(envadapters.Options{Words: "own"}, 1, 1)
	if err == nil || !strings.Contains(err.Error(), `no words "own"; it has from-pools and made-up`) {
		t.Errorf("words own: got %v, want an error that names the words it has", err)
	}
}
