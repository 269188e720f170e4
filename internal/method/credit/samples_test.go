package credit

import (
	"math"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/agents"
)

func TestTheAdvantagesOfAStep(t *testing.T) {
	// Three of four are right, so the mean is 3/4 and the standard deviation is √(4·3/4·1/4 / 3) = 1/2.
	right, wrong := 0.25/(0.5+minSpread), -0.75/(0.5+minSpread)
	for name, c := range map[string]struct {
		labels []domain.Label
		want   []float64
	}{
		"spread":        {[]domain.Label{1, 1, 0, 1}, []float64{right, right, wrong, right}},
		"without ∅":     {[]domain.Label{-1, 1, 1, 0, -1, 1}, []float64{0, right, right, wrong, 0, right}},
		"all right":     {[]domain.Label{1, 1, -1}, []float64{0, 0, 0}},
		"all wrong":     {[]domain.Label{0, 0}, []float64{0, 0}},
		"one answer":    {[]domain.Label{1}, []float64{0}},
		"nothing known": {[]domain.Label{-1, -1}, []float64{0, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			cells := make([]domain.Cell, len(c.labels)) // of as many agents, which do not read each other
			for agent := range cells {
				cells[agent].Agent = agent
			}
			for i, got := range Advantages(cells, c.labels, Reading{}) {
				if math.Abs(got-c.want[i]) > 1e-12 {
					t.Errorf("advantage of cell %d = %v, want %v", i, got, c.want[i])
				}
			}
		})
	}
}

// TestTheGroupOfACellLacksWhatItInfluenced has two agents with two rounds, where agent 1 reads agent 0. Only the first
// answer of agent 0 is wrong.
func TestTheGroupOfACellLacksWhatItInfluenced(t *testing.T) {
	cells := []domain.Cell{{}, {Round: 1}, {Agent: 1}, {Agent: 1, Round: 1}}
	labels := []domain.Label{0, 1, 1, 1}
	alone := 0.0                                          // all others follow from it
	wide := 0.25 / (0.5 + minSpread)                      // three of four are right
	pair := 0.5 / (math.Sqrt(0.5) + minSpread)            // one of two is right
	third := (1 - 2.0/3) / (math.Sqrt(1.0/3) + minSpread) // two of three are right
	forward := domain.Topology{Agents: 2, Edges: [][2]int{{0, 1}}}
	for name, c := range map[string]struct {
		reading Reading
		want    []float64
	}{
		"predecessors": {Reading{Topology: forward}, []float64{alone, third, third, wide}},
		"also back": {
			Reading{Topology: forward, Reads: agents.ReadBack}, []float64{alone, third, pair, wide},
		},
		"nobody": {
			Reading{Topology: domain.Topology{Agents: 2}},
			[]float64{(0 - 2.0/3) / (math.Sqrt(1.0/3) + minSpread), wide, third, wide},
		},
	} {
		t.Run(name, func(t *testing.T) {
			for i, got := range Advantages(cells, labels, c.reading) {
				if math.Abs(got-c.want[i]) > 1e-12 {
					t.Errorf("advantage of cell %d = %v, want %v", i, got, c.want[i])
				}
			}
		})
	}
}

func TestSamplesAreTheAgentsOwnAnswersOfStepsWithASpread(t *testing.T) {
	steps := []domain.Step{
		step(1, 3, [][]int{{3, 3}, {2, 3}}), // equal answers of one agent, and a peer's wrong one
		step(2, 3, [][]int{{3, 3}, {3, 3}}), // all agents are right
	}
	credits := []domain.Credit{Oracle(steps[0]), Oracle(steps[1])}
	episode := Episode{Slot: 7, Template: "tpl", Steps: steps, Credits: credits}
	got, n := Samples(defaults, episode)

	if len(got) != 4 || n.Pairs[domain.SourceGroup] != 4 || n.NoSpread != 1 || n.Positive != 7 || n.Negative != 1 {
		t.Fatalf("%d samples, %+v, want 4 of the first step, and 7 positive and 1 negative cells", len(got), n)
	}
	for i, p := range got {
		cell := steps[0].Decision.Cells[i]
		right := i != 2
		if p.Agent != cell.Agent || p.Round != cell.Round || p.Prompt != cell.Prompt || p.Chosen != cell.Text ||
			p.Rejected != "" || p.Step != 1 || p.Slot != 7 || p.Template != "tpl" || p.Weight != 1 ||
			(p.Advantage > 0) != right {
			t.Errorf("sample %d = %+v, want cell %d of step 1, which is right: %v", i, p, i, right)
		}
	}

	few := defaults
	few.PerEpisode = 1
	if got, n := Samples(few, episode); len(got) != 2 || n.OverLimit != 2 {
		t.Errorf("%d samples and %d over the limit of 1 per agent, want 2 and 2", len(got), n.OverLimit)
	}
}

func TestTheStyleOfSamplesIsThatOfRaisedAgainstLoweredAnswers(t *testing.T) {
	var leaks []domain.Example
	for i := range 40 {
		p := domain.Example{Slot: i, Chosen: "click here", Advantage: 1}
		if i%4 < 2 {
			p = domain.Example{Slot: i, Chosen: "type there", Advantage: -1}
		}
		leaks = append(leaks, p)
	}
	if got := StyleAUC(leaks); got != 1 {
		t.Errorf("StyleAUC = %v, want 1", got)
	}
}
