package rules_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/envadapters/scripted"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
)

// templates is the scripted suite with other templates.
type templates struct {
	*scripted.Suite
	names []string
}

func withTemplates(names ...string) envadapters.Suite { return templates{&scripted.Suite{}, names} }

func (s templates) Templates(string) ([]envadapters.Template, error) {
	var out []envadapters.Template
	for _, n := range s.names {
		out = append(out, envadapters.Template{Name: n, MaxSteps: 6})
	}

	return out, nil
}

func TestASlotIsAFunctionOfItsNumbers(t *testing.T) {
	s, suite := spec.Default(), &scripted.Suite{}
	draw := func(t *testing.T, s spec.Spec, epoch, n, r int) domain.Slot {
		t.Helper()
		slot, err := rules.Slot(s, suite, epoch, n, r)
		if err != nil {
			t.Fatal(err)
		}
		return slot
	}

	first := draw(t, s, 1, 3, 0)
	want := domain.Slot{
		Epoch: 1, Number: 3, Seed: domain.Seed(s.Seed, "calls", 1, 3, 0),
		Task: domain.Task{
			Suite: "webtasks", Template: first.Task.Template, Split: domain.SplitTrain,
			Seed: domain.Seed(s.Seed, "task", 1, 3, 0), MaxSteps: 6,
		},
	}
	if first != want {
		t.Errorf("Slot(1, 3, 0) = %+v, want %+v", first, want)
	}
	if again := draw(t, s, 1, 3, 0); again != first {
		t.Errorf("Slot(1, 3, 0) = %+v the second time, want %+v", again, first)
	}

	reseeded := s
	reseeded.Seed++
	for name, other := range map[string]domain.Slot{
		"another epoch":        draw(t, s, 2, 3, 0),
		"another number":       draw(t, s, 1, 4, 0),
		"a replacement":        draw(t, s, 1, 3, 1),
		"another seed":         draw(t, reseeded, 1, 3, 0),
		"the next replacement": draw(t, s, 1, 3, 2),
	} {
		t.Run(name, func(t *testing.T) {
			if other.Seed == first.Seed || other.Task.Seed == first.Task.Seed {
				t.Errorf("Slot = %+v, want other seeds than those of %+v", other, first)
			}
		})
	}
}

func TestTemplatesTakeTurnsInTheSlotsOfAnEpoch(t *testing.T) {
	s, suite := spec.Default(), withTemplates("a", "b", "c")
	var orders [][]string
	for epoch := 1; epoch <= 8; epoch++ {
		var order []string
		for n := 1; n <= 6; n++ {
			slot, err := rules.Slot(s, suite, epoch, n, 0)
			if err != nil {
				t.Fatal(err)
			}
			order = append(order, slot.Task.Template)
		}
		if !slices.Equal(order[:3], order[3:]) {
			t.Errorf("epoch %d plays %v, want the same order twice", epoch, order)
		}
		if got := slices.Sorted(slices.Values(order[:3])); !slices.Equal(got, []string{"a", "b", "c"}) {
			t.Errorf("epoch %d plays %v in its first slots, want each of a, b and c", epoch, got)
		}
		orders = append(orders, order)
	}

	if !slices.ContainsFunc(orders, func(o []string) bool { return !slices.Equal(o, orders[0]) }) {
		t.Errorf("all epochs play in the order %v, want another one in some epoch", orders[0])
	}
}

func TestAReplacementIsATaskOfTheNextTemplate(t *testing.T) {
	s, suite := spec.Default(), &scripted.Suite{}
	replacement, err := rules.Slot(s, suite, 1, 3, 1)
	if err != nil {
		t.Fatal(err)
	}
	next, err := rules.Slot(s, suite, 1, 4, 0)
	if err != nil {
		t.Fatal(err)
	}

	if got, want := replacement.Task.Template, next.Task.Template; got != want {
		t.Errorf("the replacement's template = %q, want %q", got, want)
	}
	if replacement.Number != 3 || replacement.Replacement != 1 {
		t.Errorf("the replacement is number %d, %d; want 3, 1", replacement.Number, replacement.Replacement)
	}
}

func TestNoSlotIsDrawnFromQuarantine(t *testing.T) {
	s, suite := spec.Default(), &scripted.Suite{}
	ts, err := suite.Templates(domain.SplitTrain)
	if err != nil || len(ts) < 2 {
		t.Fatalf("Templates = %v, %v; want at least two", ts, err)
	}
	s.Quarantine = []string{ts[0].Name}
	for n := range 3 * len(ts) {
		for r := range 3 {
			slot, err := rules.Slot(s, suite, 1, n+1, r)
			if err != nil || slot.Task.Template == ts[0].Name {
				t.Errorf("slot %d.%d plays %q, %v; want no %q", n+1, r, slot.Task.Template, err, ts[0].Name)
			}
		}
	}

	for _, t := range ts {
		s.Quarantine = append(s.Quarantine, t.Name)
	}
	if _, err := rules.Slot(s, suite, 1, 1, 0); fault.KindOf(err) != fault.Invalid {
		t.Errorf("Slot with everything in quarantine = %v, want an invalid fault", err)
	}
}

func TestASuiteWithoutTrainingTemplatesIsInvalid(t *testing.T) {
	_, err := rules.Slot(spec.Default(), withTemplates(), 1, 1, 0)
	if fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), `"webtasks"`) {
		t.Errorf("Slot = %v, want an invalid fault that names the environment", err)
	}
}

func TestTheGraphOfAnEpochFollowsFromTheSpecification(t *testing.T) {
	none := domain.Topology{Agents: 4, Edges: [][2]int{}}
	first := domain.RandomTopology(1, 1, 4, nil)
	second := domain.RandomTopology(1, 2, 4, &first)
	single := domain.Topology{Agents: 1, Edges: [][2]int{}}

	for name, c := range map[string]struct {
		change func(*spec.Spec)
		epoch  int
		prev   *domain.Topology
		want   domain.Topology
	}{
		"the first epoch":         {func(*spec.Spec) {}, 1, nil, first},
		"a later epoch":           {func(*spec.Spec) {}, 2, &first, second},
		"no edges":                {func(s *spec.Spec) { s.Edges = spec.EdgesNone }, 2, &none, none},
		"without update of edges": {func(s *spec.Spec) { s.EdgeUpdate = false }, 2, &first, first},
		"one agent":               {func(s *spec.Spec) { s.Agents = 1 }, 2, nil, single},
		"no edges, no update":     {func(s *spec.Spec) { s.Edges, s.EdgeUpdate = spec.EdgesNone, false }, 1, nil, none},
	} {
		t.Run(name, func(t *testing.T) {
			s := spec.Default()
			c.change(&s)
			if got := rules.Topology(s, c.epoch, c.prev); !reflect.DeepEqual(got, c.want) {
				t.Errorf("Topology(epoch %d) = %v, want %v", c.epoch, got, c.want)
			}
		})
	}

	if reflect.DeepEqual(second, first) {
		t.Errorf("the graph of epoch 2 = %v, want another one than that of epoch 1", second)
	}
}

// catalog is a catalog in which the suite "pages" is recorded.
type catalog struct{ spec.Catalog }

func (catalog) Recorded(suite string) bool { return suite == "pages" }

func TestTheCriticIsNamedWithWhatItMeans(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*spec.Spec)
		want   string
	}{
		"the judge": {func(*spec.Spec) {}, "oracle (privileged)"},
		"a judge that errs": {func(s *spec.Spec) { s.Critic.Error = 0.1 },
			"oracle (privileged), 10 % of its labels flipped"},
		"the episode's end": {func(s *spec.Spec) { s.Credit = spec.CreditOutcome }, "outcome"},
		"a chat model":      {func(s *spec.Spec) { s.Critic.Model = "judge" }, "judge (judge-1)"},
		"an unknown model":  {func(s *spec.Spec) { s.Critic.Model = "nobody" }, ""},
		"the recorded action": {func(s *spec.Spec) { s.Environment = "pages" },
			"oracle (privileged): the recorded action, so this is supervised learning"},
	} {
		t.Run(name, func(t *testing.T) {
			s := spec.Default()
			s.Models = map[spec.Role]spec.Model{"judge": {Model: "judge-1"}}
			c.change(&s)
			if got := rules.CriticName(s, catalog{}); got != c.want {
				t.Errorf("CriticName = %q, want %q", got, c.want)
			}
		})
	}
}

func TestTemplatesInFocusGetTheirShareOfTheSlots(t *testing.T) {
	s := spec.Default()
	suite := &scripted.Suite{More: []string{"h", "i"}}
	s.Focus = spec.Focus{Templates: []string{"h", "i"}, Share: 0.7}
	counts := map[string]int{}
	for n := 1; n <= 100; n++ {
		slot, err := rules.Slot(s, suite, 1, n, 0)
		if err != nil {
			t.Fatal(err)
		}
		counts[slot.Task.Template]++
	}
	for _, name := range []string{"h", "i"} {
		if counts[name] != 35 {
			t.Errorf("%s has %d of 100 slots, want 35", name, counts[name])
		}
	}
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g"} {
		if counts[name] < 4 || counts[name] > 5 {
			t.Errorf("%s has %d of 100 slots, want 4 or 5", name, counts[name])
		}
	}
}
