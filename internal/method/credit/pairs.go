package credit

import (
	"context"
	"math"
	"strings"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/agents"
)

// Rules of pair making; the zero value is not useful, see Defaults.
type Rules struct {
	Candidates   int  // samples of the adversary per positive cell (K)
	PerStep      int  // pairs per agent and step
	PerEpisode   int  // pairs per agent and episode
	Correction   bool // also pair a peer's right action with the agent's own wrong one
	OutcomeOnly  bool // credit: outcome — no adversary, no grade
	AdversaryOff bool // preference: rft — positives only, rejected stays empty
}

// Defaults are METHOD.md's.
var Defaults = Rules{Candidates: 4, PerStep: 2, PerEpisode: 8}

// PairCounts says what became of the positive cells and of the adversary's candidates.
type PairCounts struct {
	Positive, Negative, Uncertain int            // cells
	Unparsed, Equal, NotNegative  int            // candidates rejected: no parse, equals y+ or a cell not labelled 0, graded other than 0
	Pairs                         map[string]int // by source
	NoPair                        int            // positive cells without any rejected answer
	OverLimit                     int            // pairs left out by PerStep and PerEpisode
}

// Adversary proposes n answers to the prompt of a positive cell that are plausible and, it hopes, wrong.
type Adversary func(ctx context.Context, step domain.Step, cell domain.Cell, n int) ([]string, error)

// Grade labels the candidates of one step; labels are those of the step's own cells.
type Grade func(ctx context.Context, step domain.Step, labels []domain.Label, cands []domain.Cell) ([]domain.Label, error)

// OracleGrade is Grade by the environment's judge.
func OracleGrade(_ context.Context, s domain.Step, _ []domain.Label, cands []domain.Cell) ([]domain.Label, error) {
	s.Decision.Cells = cands
	return Oracle(s).Labels, nil
}

// Pairs makes the preference pairs of one episode, ordered by agent, step, round. The latest round of every (agent, step, canonical y+) is used, so the
// adversary is asked once for each.
func Pairs(ctx context.Context, r Rules, slot int, template string, steps []domain.Step, credits []domain.Credit, adv Adversary, grade Grade) ([]domain.Pair, PairCounts, error) {
	counts := PairCounts{Pairs: map[string]int{}}
	var out []domain.Pair
	if len(steps) == 0 {
		return out, counts, nil
	}
	cands, err := r.candidates(ctx, steps, credits, adv, grade, &counts)
	if err != nil {
		return nil, counts, err
	}
	agents := 1 + steps[0].Decision.Cells[len(steps[0].Decision.Cells)-1].Agent
	for a := range agents {
		inEpisode := 0
		for si, s := range steps {
			labels := credits[si].Labels
			inStep := 0
			seen := map[[2]string]bool{}
			for _, i := range latest(s, labels, a) {
				p, ok := r.pair(s, labels, i, cands[[2]int{si, i}])
				if !ok {
					counts.NoPair++
					continue
				}
				key := [2]string{p.ChosenCanonical, p.RejectedCanonical}
				if seen[key] {
					continue
				}
				if inStep >= r.PerStep || inEpisode >= r.PerEpisode {
					counts.OverLimit++
					continue
				}
				seen[key] = true
				p.Slot, p.Template, p.Weight = slot, template, 1
				out = append(out, p)
				counts.Pairs[p.Source]++
				inStep++
				inEpisode++
			}
			if p, ok := r.correction(s, labels, a); ok && !seen[[2]string{p.ChosenCanonical, p.RejectedCanonical}] {
				if inStep >= r.PerStep || inEpisode >= r.PerEpisode {
					counts.OverLimit++
					continue
				}
				p.Slot, p.Template, p.Weight = slot, template, 1
				out = append(out, p)
				counts.Pairs[p.Source]++
				inEpisode++
			}
		}
	}
	return out, counts, nil
}

// candidate is an adversary's answer that may become y−.
type candidate struct {
	cell  domain.Cell
	label domain.Label
}

// candidates asks the adversary for every positive cell, and grades what could serve: all candidates of a step at once. The answer is by step and cell.
func (r Rules) candidates(ctx context.Context, steps []domain.Step, credits []domain.Credit, adv Adversary, grade Grade, n *PairCounts) (map[[2]int][]candidate, error) {
	out := map[[2]int][]candidate{}
	for si, s := range steps {
		labels := credits[si].Labels
		taken := map[string]bool{} // canonical actions of this step that are not labelled 0
		for k, c := range s.Decision.Cells {
			switch labels[k] {
			case domain.Positive:
				n.Positive++
			case domain.Negative:
				n.Negative++
			default:
				n.Uncertain++
			}
			if labels[k] != domain.Negative {
				taken[c.Canonical] = true
			}
		}
		if r.AdversaryOff || r.OutcomeOnly {
			continue
		}
		var all []domain.Cell
		var of []int
		for a := range 1 + s.Decision.Cells[len(s.Decision.Cells)-1].Agent {
			for _, i := range latest(s, labels, a) {
				cell := s.Decision.Cells[i]
				texts, err := adv(ctx, s, cell, r.Candidates)
				if err != nil {
					return nil, err
				}
				for _, t := range texts {
					c := agents.NewCell(cell.Agent, cell.Round, t, cell.Prompt, s.Observation)
					switch {
					case c.Action == nil:
						n.Unparsed++
					case taken[c.Canonical]:
						n.Equal++
					default:
						all, of = append(all, c), append(of, i)
					}
				}
			}
		}
		if len(all) == 0 {
			continue
		}
		graded, err := grade(ctx, s, labels, all)
		if err != nil {
			return nil, err
		}
		for k, c := range all {
			if graded[k] != domain.Negative {
				n.NotNegative++
			}
			at := [2]int{si, of[k]}
			out[at] = append(out[at], candidate{c, graded[k]})
		}
	}
	return out, nil
}

// latest gives the positive cells of an agent at a step, one per canonical action, the latest round of each, in order of rounds.
func latest(s domain.Step, labels []domain.Label, agent int) []int {
	last := map[string]int{}
	for i, c := range s.Decision.Cells {
		if c.Agent == agent && labels[i] == domain.Positive {
			last[c.Canonical] = i
		}
	}
	var out []int
	for i, c := range s.Decision.Cells {
		if c.Agent == agent && labels[i] == domain.Positive && last[c.Canonical] == i {
			out = append(out, i)
		}
	}
	return out
}

// pair finds y− for a positive cell: the first candidate labelled 0, else the agent's own 0 of another round, else a peer's that is legal in x.
func (r Rules) pair(s domain.Step, labels []domain.Label, i int, cands []candidate) (domain.Pair, bool) {
	cell := s.Decision.Cells[i]
	p := domain.Pair{Agent: cell.Agent, Step: s.Number, Round: cell.Round, Prompt: cell.Prompt, Chosen: cell.Text, ChosenCanonical: cell.Canonical}
	if r.AdversaryOff {
		p.Source = "none"
		return p, true
	}
	set := func(c domain.Cell, source string) (domain.Pair, bool) {
		p.Rejected, p.RejectedCanonical, p.Source = c.Text, c.Canonical, source
		return p, true
	}
	if r.OutcomeOnly {
		for _, c := range s.Decision.Cells {
			if c.Action != nil && c.Canonical != cell.Canonical {
				return set(c, domain.SourceOther)
			}
		}
		return p, false
	}
	for _, c := range cands {
		if c.label == domain.Negative {
			return set(c.cell, domain.SourceAdversary)
		}
	}
	if k := negative(s, labels, func(c domain.Cell) bool { return c.Agent == cell.Agent && c.Round != cell.Round }); k >= 0 {
		return set(s.Decision.Cells[k], domain.SourceOwn)
	}
	if k := negative(s, labels, func(c domain.Cell) bool { return c.Agent != cell.Agent && legal(*c.Action, s.Observation, cell.Prompt) }); k >= 0 {
		return set(s.Decision.Cells[k], domain.SourcePeer)
	}
	return p, false
}

// negative finds the last parseable cell labelled 0 that fits.
func negative(s domain.Step, labels []domain.Label, fits func(domain.Cell) bool) int {
	for i := len(s.Decision.Cells) - 1; i >= 0; i-- {
		if c := s.Decision.Cells[i]; labels[i] == domain.Negative && c.Action != nil && fits(c) {
			return i
		}
	}
	return -1
}

// correction pairs a peer's right action with the agent's own wrong one, on the prompt of the agent's own latest wrong cell.
func (r Rules) correction(s domain.Step, labels []domain.Label, agent int) (domain.Pair, bool) {
	if !r.Correction || r.AdversaryOff {
		return domain.Pair{}, false
	}
	own := negative(s, labels, func(c domain.Cell) bool { return c.Agent == agent })
	if own < 0 {
		return domain.Pair{}, false
	}
	w := s.Decision.Cells[own]
	for i, c := range s.Decision.Cells {
		if labels[i] == domain.Positive && c.Agent != agent && legal(*c.Action, s.Observation, w.Prompt) {
			return domain.Pair{Agent: agent, Step: s.Number, Round: w.Round, Prompt: w.Prompt, Chosen: c.Text, Rejected: w.Text,
				ChosenCanonical: c.Canonical, RejectedCanonical: w.Canonical, Source: domain.SourceCorrection}, true
		}
	}
	return domain.Pair{}, false
}

// legal tells whether an action names only an element that stands in the prompt: the agent may see less than the screen holds.
func legal(a domain.Action, o domain.Observation, prompt string) bool {
	if a.Index == nil {
		return true
	}
	e, ok := o.Element(*a.Index)
	return ok && strings.Contains(prompt, "\n"+agents.ElementLine(e)+"\n")
}

// Balance sets the pairs' weights so that every task template has the same total and the mean weight is 1.
func Balance(pairs []domain.Pair) {
	per := map[string]int{}
	for _, p := range pairs {
		per[p.Template]++
	}
	for i := range pairs {
		pairs[i].Weight = float64(len(pairs)) / float64(len(per)*per[pairs[i].Template])
	}
}

// BalanceActions sets the weights of demonstrations so that the total of an action type grows with the square root of its count, and the mean weight is 1. A
// type that stage 1 hardly teaches is never proposed by any agent, so that no cell of it is ever labelled 1 and stage 2 cannot bring it back.
func BalanceActions(pairs []domain.Pair) {
	kinds, per, total := make([]string, len(pairs)), map[string]float64{}, 0.0
	for i, p := range pairs {
		if a, err := agents.ParseAnswer(p.Chosen); err == nil {
			kinds[i] = a.Type
		}
		per[kinds[i]]++
	}
	for _, n := range per {
		total += math.Sqrt(n)
	}
	for i, k := range kinds {
		pairs[i].Weight = float64(len(pairs)) / (total * math.Sqrt(per[k]))
	}
}
