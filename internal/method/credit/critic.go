package credit

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/method/chat"
	"github.com/collabui/collabui/internal/method/prompts"
)

// ModelCritic is a critic that is a chat model (docs/method.md, Credit). It sees the goal, history, screen and all
// texts, but never the reward, the outcome, the next screen or the judge's right actions.
type ModelCritic struct {
	Chat    chat.Model
	Prompt  *prompts.Prompt
	Forms   prompts.Forms
	Robust  bool          // Scores between 0.3 and 0.7 are labelled ∅. Otherwise the label is 1 from 0.5 on, else 0.
	ByRound bool          // Each round is graded in a separate call, instead of all cells of a step in one call.
	Silent  bool          // Acts of speech are not sent to the model, and are labelled ∅.
	Limits  agents.Limits // of what the model reads of a step; it reads the whole history
}

// Label grades a step and labels its cells. Within a call, cells with equal canonical actions are graded once, with the
// text of the first one, and share its score. A cell that does not parse proposes nothing: it is labelled 0 and not
// sent to the model. If an answer is not JSON or lacks cells, the model gets one repair turn; cells that still lack a
// score are labelled ∅, and no score is ever invented. Errors are errors of the endpoint. The call may be repeated.
func (c ModelCritic) Label(ctx context.Context, step domain.Step, seed uint64) (domain.Credit, Audit, error) {
	cells := step.Decision.Cells
	audit := Audit{
		Step:    step.Number,
		Grades:  make([]Score, len(cells)),
		Means:   map[string]float64{},
		Prompt:  c.Prompt.Digest,
		Version: c.Prompt.Version,
	}

	var groups [][]int         // indices of the cells that each call grades
	same := map[string][]int{} // indices of the cells that share the score of the first one
	for i, cell := range cells {
		audit.Grades[i] = Score{Agent: cell.Agent, Round: cell.Round}
		if cell.Action == nil || c.Silent && speaks(cell) {
			continue
		}
		g := 0
		if c.ByRound {
			g = cell.Round
		}
		for len(groups) <= g {
			groups = append(groups, nil)
		}
		proposal := fmt.Sprint(g, " ", cell.Canonical)
		if len(same[proposal]) == 0 {
			groups[g] = append(groups[g], i)
		}
		same[proposal] = append(same[proposal], i)
	}

	for g, group := range groups {
		if len(group) == 0 {
			continue
		}
		if err := c.grade(ctx, step, group, domain.Seed(seed, "critic", g), &audit); err != nil {
			return domain.Credit{}, audit, err
		}
	}

	for _, equal := range same {
		for _, i := range equal[1:] {
			agent := audit.Grades[i].Agent
			round := audit.Grades[i].Round
			audit.Grades[i] = audit.Grades[equal[0]]
			audit.Grades[i].Agent = agent
			audit.Grades[i].Round = round
		}
	}

	return c.labels(step, &audit), audit, nil
}

// labels averages scores by canonical action, so equal actions have equal labels.
func (c ModelCritic) labels(step domain.Step, audit *Audit) domain.Credit {
	type span struct{ sum, n, low, high float64 }
	by := map[string]*span{}
	for i, cell := range step.Decision.Cells {
		score := audit.Grades[i]
		if cell.Action == nil || !score.Given {
			continue
		}
		p := by[cell.Canonical]
		if p == nil {
			p = &span{low: score.Value, high: score.Value}
			by[cell.Canonical] = p
		}
		p.sum += score.Value
		p.n++
		p.low = math.Min(p.low, score.Value)
		p.high = math.Max(p.high, score.Value)
	}
	for key, p := range by {
		audit.Means[key] = p.sum / p.n
		audit.Spread = math.Max(audit.Spread, p.high-p.low)
	}

	out := domain.Credit{Step: step.Number, Labels: make([]domain.Label, len(step.Decision.Cells))}
	for i, x := range step.Decision.Cells {
		mean, ok := audit.Means[x.Canonical]
		switch {
		case x.Refused != "", c.Silent && speaks(x):
			out.Labels[i] = domain.Uncertain
		case x.Action == nil: // It proposes nothing, so its label stays 0.
		case !audit.Grades[i].Given || !ok:
			out.Labels[i] = domain.Uncertain
		default:
			out.Labels[i] = c.label(mean)
		}
	}

	return out
}

// label returns the label of a score by one of two rules. If Robust, it is 1 from 0.7, 0 up to 0.3, and ∅ between. If
// not, it is 1 from 0.5 and otherwise 0, as in the paper.
func (c ModelCritic) label(score float64) domain.Label {
	low := 0.5
	high := 0.5
	if c.Robust {
		low = 0.3
		high = 0.7
	}

	switch {
	case score >= high:
		return domain.Positive
	case score <= low || !c.Robust:
		return domain.Negative
	}

	return domain.Uncertain
}

// Candidates labels an adversary's candidates of one step in one call. They are shuffled among the step's cells that
// are labelled 1, and the model cannot distinguish the two. Errors are errors of the endpoint. The call may be
// repeated.
func (c ModelCritic) Candidates(
	ctx context.Context, step domain.Step, labels []domain.Label, cands []domain.Cell, seed uint64,
) ([]domain.Label, Audit, error) {
	all, order := blinded(step, labels, cands, seed)
	blind := step
	blind.Decision.Cells = make([]domain.Cell, len(all))
	for at, i := range order {
		blind.Decision.Cells[at] = all[i]
		blind.Decision.Cells[at].Agent = at
		blind.Decision.Cells[at].Round = 0
	}
	c.ByRound = false
	credit, audit, err := c.Label(ctx, blind, domain.Seed(seed, "candidates"))
	if err != nil {
		return nil, audit, err
	}

	out := make([]domain.Label, len(cands))
	for at, i := range order {
		if i < len(cands) {
			out[i] = credit.Labels[at]

			continue
		}
		audit.Blinded++
		if credit.Labels[at] == domain.Positive {
			audit.Again++
		}
	}

	return out, audit, nil
}

// CandidatesSeed derives the seed for grading a step's candidates from the slot's seed.
func CandidatesSeed(slot uint64, step int) uint64 { return domain.Seed(slot, "candidates", step) }

// blinded returns the candidates followed by the step's actions that are labelled 1, each once, and the order in which
// the critic sees them.
func blinded(
	step domain.Step, labels []domain.Label, cands []domain.Cell, seed uint64,
) (all []domain.Cell, order []int) {
	all = slices.Clone(cands)
	seen := map[string]bool{}
	for i, cell := range step.Decision.Cells {
		if labels[i] == domain.Positive && !speaks(cell) && !seen[cell.Canonical] {
			seen[cell.Canonical] = true
			all = append(all, cell)
		}
	}

	return all, domain.Rand(seed, "blind").Perm(len(all))
}
