package pilot

import (
	"testing"

	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/workers/catalog"
)

func TestAPilotIsSmallAndNamedByItsSpecification(t *testing.T) {
	s := spec.Default()
	s.Name = "a-name-of-nearly-forty-characters-in-all"
	s.FineTune.Levels = []int{1, 2, 3}
	s.Evaluation.OutOfDistribution = []spec.Elsewhere{
		{Environment: "webtasks", Split: "test-seeds"}, {Environment: "webtasks", Split: "val", Episodes: 3},
	}
	p := Spec(s, 5)

	if err := p.Validate(catalog.All{}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name      string
		got, want int
	}{
		{"slots", p.Slots, 5},
		{"epochs", p.Epochs, 1},
		{"demonstrations", p.FineTune.Demonstrations, 5},
		{"steps of level 2", p.FineTune.Steps.Level2, steps},
		{"episodes on val", p.Evaluation.Val, 5},
		{"episodes on test-seeds", p.Evaluation.TestSeeds, 0},
		{"episodes elsewhere, of every template", p.Evaluation.OutOfDistribution[0].Episodes, 5},
		{"episodes elsewhere", p.Evaluation.OutOfDistribution[1].Episodes, 3},
		{"the run's episodes elsewhere", s.Evaluation.OutOfDistribution[1].Episodes, 3},
	} {
		if c.got != c.want {
			t.Errorf("%s = %d, want %d", c.name, c.got, c.want)
		}
	}

	plain := s
	plain.FineTune.Levels = nil
	if got := Spec(plain, 5).FineTune.Demonstrations; got != 20 {
		t.Errorf("without levels, demonstrations = %d, want 20", got)
	}

	if again := Spec(s, 5); again.Name != p.Name {
		t.Errorf("the same specification has the pilots %s and %s, want one", p.Name, again.Name)
	}
	s.Rounds++
	if other := Spec(s, 5); other.Name == p.Name {
		t.Errorf("another specification has the pilot %s too, want another name", other.Name)
	}
}
