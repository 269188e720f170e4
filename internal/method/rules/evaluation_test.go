package rules_test

import (
	"reflect"
	"slices"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
)

// twoAgents returns a specification of two agents and two rounds, and the temperatures of its agents.
func twoAgents() (spec.Spec, []float64) {
	s := spec.Default()
	s.Agents, s.Rounds, s.Decoding.Temperatures = 2, 2, []float64{0.3, 0.7}

	return s, s.Temperatures()
}

func TestAgentsAreEvaluatedAtTheTemperaturesOfTheirTraining(t *testing.T) {
	for seed := range uint64(8) {
		s := spec.Default()
		s.Seed = seed
		policies := []string{"a", "b", "c", "d"}
		training, err := rules.Decoding(s, policies, domain.Topology{Agents: 4}, 1)
		if err != nil {
			t.Fatal(err)
		}
		evaluation, _, err := rules.AllAgents(s, "x", policies).Config(s, domain.SplitVal, 0)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(evaluation.Temperature, training.Temperature) {
			t.Errorf("seed %d: evaluated at %v, want %v as in training", seed, evaluation.Temperature,
				training.Temperature)
		}
	}
}

func TestAnEpochIsEvaluatedByItsSystems(t *testing.T) {
	s, warmths := twoAgents()
	alone := s
	alone.Agents, alone.Decoding.Temperatures = 1, []float64{0.5}
	base, trained := []string{"b", "b"}, []string{"p", "q"}
	greedy := rules.EvalSystem{
		Name: "base-1-greedy", Policies: []string{"b"}, Rounds: 1, Temperature: []float64{0}, TopP: 0.8,
	}
	warm := rules.EvalSystem{
		Name: "base-1-t0.2", Policies: []string{"b"}, Rounds: 1, Temperature: []float64{0.2}, TopP: 0.8,
	}
	together := func(name string, policies []string) rules.EvalSystem {
		return rules.EvalSystem{Name: name, Policies: policies, Rounds: 2, Temperature: warmths, TopP: 0.8}
	}

	for name, c := range map[string]struct {
		spec     spec.Spec
		epoch    int
		policies []string
		want     []rules.EvalSystem
	}{
		"the base of two agents": {s, 0, base, []rules.EvalSystem{greedy, warm, together("base-2", base)}},
		"the base of one agent":  {alone, 0, base[:1], []rules.EvalSystem{greedy, warm}},
		"a trained system":       {s, 3, trained, []rules.EvalSystem{together("trained-2", trained)}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := rules.EvalSystems(c.spec, c.epoch, c.policies); !reflect.DeepEqual(got, c.want) {
				t.Errorf("EvalSystems(epoch %d) = %+v, want %+v", c.epoch, got, c.want)
			}
		})
	}
}

func TestASystemDecidesOnTheFixedGraphsOfEvaluation(t *testing.T) {
	s, warmths := twoAgents()
	graphs := domain.EvaluationTopologies(2)
	silent := domain.Topology{Agents: 2, Edges: [][2]int{}}
	together := rules.AllAgents(s, "x", []string{"p", "q"})
	quiet := together
	quiet.Silent = true

	for name, c := range map[string]struct {
		system     rules.EvalSystem
		topologies []domain.Topology
	}{
		"with messages":    {together, graphs},
		"without messages": {quiet, []domain.Topology{silent}},
	} {
		t.Run(name, func(t *testing.T) {
			got, number, err := c.system.Config(s, domain.SplitVal, 5)
			if err != nil {
				t.Fatal(err)
			}
			if number >= len(c.topologies) || !reflect.DeepEqual(got.Topology, c.topologies[number]) {
				t.Errorf("Config uses graph %d, %v; want one of %v", number, got.Topology, c.topologies)
			}
			if !slices.Equal(got.Policies, []string{"p", "q"}) || got.Rounds != 2 {
				t.Errorf("Config = %d rounds of %v, want 2 rounds of p and q", got.Rounds, got.Policies)
			}
			if !slices.Equal(got.Temperature, warmths) || !got.Early {
				t.Errorf("Config decodes at %v, early: %v; want %v, early", got.Temperature, got.Early, warmths)
			}
		})
	}
}

// drawnTopologies returns the numbers of the topologies of a split's first n episodes.
func drawnTopologies(t *testing.T, s spec.Spec, split string, n int) []int {
	t.Helper()
	e := rules.EvalSystem{Policies: []string{"a", "b", "c", "d"}, Rounds: 1, Temperature: make([]float64, 4)}
	var out []int
	for i := range uint64(n) {
		_, number, err := e.Config(s, split, i)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, number)
	}

	return out
}

func TestEveryFourEpisodesPlayAllFourGraphs(t *testing.T) {
	got := drawnTopologies(t, spec.Default(), domain.SplitVal, 100)
	for block := range slices.Chunk(got, 4) {
		if sorted := slices.Sorted(slices.Values(block)); !slices.Equal(sorted, []int{0, 1, 2, 3}) {
			t.Errorf("four episodes play the graphs %v, want each of them once", block)
		}
	}
}

// TestGraphsAreNotTiedToTemplates has a number of templates that would tie graphs to them if graphs took turns as
// templates do.
func TestGraphsAreNotTiedToTemplates(t *testing.T) {
	for _, templates := range []int{4, 12, 34} {
		graphs := map[int]map[int]int{} // episodes by template and graph
		for i, number := range drawnTopologies(t, spec.Default(), domain.SplitTestTemplates, 40*templates) {
			if graphs[i%templates] == nil {
				graphs[i%templates] = map[int]int{}
			}
			graphs[i%templates][number]++
		}
		for template, seen := range graphs {
			for number := range 4 {
				if seen[number] < 2 {
					t.Errorf("template %d of %d plays graph %d in %d of 40 episodes, want it in about 10",
						template, templates, number, seen[number])
				}
			}
		}
	}
}

func TestGraphsAreDrawnFromEvaluationSeedAndSplitOnly(t *testing.T) {
	s := spec.Default()
	want := drawnTopologies(t, s, domain.SplitVal, 40)
	run, seed := s, s
	run.Name, run.Seed = "another", 99
	seed.Evaluation.Seed++

	for name, c := range map[string]struct {
		spec  spec.Spec
		split string
		same  bool
	}{
		"another run":             {run, domain.SplitVal, true},
		"another evaluation seed": {seed, domain.SplitVal, false},
		"another split":           {s, domain.SplitTestSeeds, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := drawnTopologies(t, c.spec, c.split, 40); slices.Equal(got, want) != c.same {
				t.Errorf("graphs = %v; want those of val: %v, which are %v", got, c.same, want)
			}
		})
	}
}

func TestOneOfThePoliciesPlaysAloneAnotherFromEpisodeToEpisode(t *testing.T) {
	s, _ := twoAgents()
	e := rules.EvalSystem{Policies: []string{"p", "q"}, OneOf: true, Rounds: 1, Temperature: []float64{0}, TopP: 1}
	played := map[string]int{}
	for i := range uint64(20) {
		c, _, err := e.Config(s, domain.SplitVal, i)
		if err != nil {
			t.Fatal(err)
		}
		if len(c.Policies) != 1 || c.Topology.Agents != 1 {
			t.Fatalf("episode %d is decided by %v on %v, want one policy", i, c.Policies, c.Topology)
		}
		played[c.Policies[0]]++
	}

	if played["p"] < 5 || played["q"] < 5 {
		t.Errorf("of 20 episodes the policies played %v, want each at least 5", played)
	}
}

func TestTasksOfAnEvaluationDoNotDependOnTheRun(t *testing.T) {
	s, suite := spec.Default(), withTemplates("a", "b")
	other := s
	other.Name, other.Seed, other.Agents = "other", 99, 1

	for i, template := range []string{"a", "b", "a"} {
		got, err := rules.EvalTask(s, suite, domain.SplitVal, i)
		if err != nil {
			t.Fatal(err)
		}
		want := domain.Task{
			Suite: "webtasks", Template: template, Split: domain.SplitVal, MaxSteps: 6,
			Seed: domain.Seed(s.Evaluation.Seed, "webtasks", domain.SplitVal, i),
		}
		if got != want {
			t.Errorf("EvalTask(%d) = %+v, want %+v", i, got, want)
		}
		if same, err := rules.EvalTask(other, suite, domain.SplitVal, i); err != nil || same != got {
			t.Errorf("EvalTask(%d) of another run = %+v, %v; want %+v", i, same, err, got)
		}
	}

	_, err := rules.EvalTask(s, withTemplates(), domain.SplitVal, 0)
	if fault.KindOf(err) != fault.Invalid {
		t.Errorf("EvalTask without templates = %v, want an invalid fault", err)
	}
}
