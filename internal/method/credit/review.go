package credit

import (
	"slices"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/agents"
)

// Fate is what became of an answer that the adversary proposed.
type Fate string

// The fates of a proposed answer, in the order in which they are decided.
const (
	FatePaired    Fate = "paired"    // It is the rejected answer of a pair.
	FateUnparsed  Fate = "unparsed"  // It contains no action.
	FateEqual     Fate = "equal"     // A cell that is not labelled 0 has the same action.
	FateUngraded  Fate = "ungraded"  // The critic gave no usable score.
	FateNotWrong  Fate = "not wrong" // The critic did not label it 0.
	FateDuplicate Fate = "duplicate" // The same pair exists already.
	FateLimit     Fate = "limit"     // The limits of the specification were reached.
)

// ProposedAnswer is an answer of the adversary with its fate and, if the critic is a model, its grade.
type ProposedAnswer struct {
	Text  string
	Fate  Fate
	Grade *Score
}

// Review reconstructs from records what became of the adversary's answers to the cells of one step.
type Review struct {
	Step   domain.Step
	Labels []domain.Label   // labels of the step's cells
	Pairs  []domain.Example // the step's recorded pairs
	Seed   uint64           // seed of the slot

	Answers agents.Reader // how the adversary's answers are read
	Speech  SpeechRule    // how acts of speech were judged

	Audit  *Audit // if the critic is a model; nil if the judge graded
	Robust bool   // see ModelCritic
	Flips  Flips  // flips of the judge's labels

	cands  []domain.Cell
	grades []*Score // of cands
	again  map[string]Score
}

// Call adds a call of the adversary about a cell and returns its answers. Calls are added in the order of the record,
// and Graded must follow.
func (r *Review) Call(agent, round int, texts []string) []ProposedAnswer {
	forbidden := forbiddenActions(r.Step, r.Labels)
	out := make([]ProposedAnswer, len(texts))
	for i, text := range texts {
		out[i].Text = text
		cell := r.Answers.Cell(agent, round, text, "", r.Step.Observation)
		switch {
		case cell.Action == nil:
			out[i].Fate = FateUnparsed
		case r.Speech != SpeechAsAction && speaks(cell):
			out[i].Fate = r.fateOfSpeech(cell)
		case forbidden[cell.Canonical]:
			out[i].Fate = FateEqual
		default:
			r.cands = append(r.cands, cell)
		}
	}

	return out
}

// Graded sets the fates and grades of the usable answers of all calls. regraded holds the grades of the cells labelled
// 1 that the critic saw once more among the candidates, by canonical action.
func (r *Review) Graded(calls [][]ProposedAnswer) (regraded map[string]Score) {
	r.grades = make([]*Score, len(r.cands))
	if r.Audit != nil {
		r.unblind()
	}
	labels := r.labels()
	k := 0
	for _, call := range calls {
		for i := range call {
			if call[i].Fate != "" {
				continue
			}
			call[i].Fate = r.fate(r.cands[k], labels[k])
			call[i].Grade = r.grades[k]
			k++
			if call[i].Fate == FatePaired && slices.ContainsFunc(call[:i], func(proposed ProposedAnswer) bool {
				return proposed.Fate == FatePaired && proposed.Text == call[i].Text
			}) {
				call[i].Fate = FateDuplicate
			}
		}
	}

	return r.again
}

// unblind assigns the audit's grades to candidates and cells in the order in which the critic saw them. It assigns none
// if the record has a different number of grades.
func (r *Review) unblind() {
	all, order := blinded(r.Step, r.Labels, r.cands, CandidatesSeed(r.Seed, r.Step.Number))
	if len(r.Audit.Grades) != len(all) {
		return
	}
	r.again = map[string]Score{}
	for at, i := range order {
		score := r.Audit.Grades[at]
		score.Agent = all[i].Agent
		score.Round = all[i].Round
		if i < len(r.cands) {
			r.grades[i] = &score
		} else {
			r.again[all[i].Canonical] = score
		}
	}
}

// labels returns the labels that the candidates were given.
func (r *Review) labels() []domain.Label {
	if r.Audit == nil {
		step := r.Step
		step.Decision.Cells = r.cands
		labels := Oracle(step).Labels
		r.Flips.Apply(step.Number, r.cands, labels)

		return labels
	}
	out := make([]domain.Label, len(r.cands))
	for i, cell := range r.cands {
		out[i] = domain.Uncertain
		if mean, ok := r.Audit.Means[cell.Canonical]; ok {
			out[i] = ModelCritic{Robust: r.Robust}.label(mean)
		}
	}

	return out
}

// right returns the cell that the call for a candidate was about.
func (r *Review) right(cell domain.Cell) domain.Cell {
	isCell := func(x domain.Cell) bool { return x.Agent == cell.Agent && x.Round == cell.Round }
	if i := slices.IndexFunc(r.Step.Decision.Cells, isCell); i >= 0 {
		return r.Step.Decision.Cells[i]
	}

	return domain.Cell{}
}

// isPair returns whether a pair prefers the cell that the call was about to a candidate.
func (r *Review) isPair(cell domain.Cell) func(domain.Example) bool {
	right := r.right(cell).Canonical

	return func(pair domain.Example) bool {
		return pair.Agent == cell.Agent && pair.ChosenCanonical == right && pair.RejectedCanonical == cell.Canonical
	}
}

// isRejected returns whether a candidate is the rejected answer of a pair.
func (r *Review) isRejected(cell domain.Cell) func(domain.Example) bool {
	isPair := r.isPair(cell)

	return func(p domain.Example) bool {
		return isPair(p) && p.Round == cell.Round && p.Source == domain.SourceAdversary && p.Rejected == cell.Text
	}
}

// fateOfSpeech returns the fate of a candidate that speaks, which no critic graded.
func (r *Review) fateOfSpeech(cell domain.Cell) Fate {
	right := r.right(cell)
	switch {
	case cell.Canonical == right.Canonical:
		return FateEqual
	case slices.ContainsFunc(r.Pairs, r.isRejected(cell)):
		return FatePaired
	case slices.ContainsFunc(r.Pairs, r.isPair(cell)):
		return FateDuplicate
	case r.Speech == SpeechByEffect && passes(cell) && !speaks(right):
		return FateLimit
	}

	return FateNotWrong
}

// fate returns the fate of a usable candidate with a label.
func (r *Review) fate(cell domain.Cell, label domain.Label) Fate {
	isPair := r.isPair(cell)
	scored := false // the critic gave a score
	if r.Audit != nil {
		_, scored = r.Audit.Means[cell.Canonical]
	}
	switch {
	case slices.ContainsFunc(r.Pairs, r.isRejected(cell)):
		return FatePaired
	case r.Audit != nil && !scored:
		return FateUngraded
	case label != domain.Negative:
		return FateNotWrong
	case slices.ContainsFunc(r.Pairs, isPair):
		return FateDuplicate
	}

	return FateLimit
}
