package credit

import (
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/collabui/collabui/domain"
)

// RandomAdversary proposes actions that are drawn at random instead of mistakes that an agent is likely to make. It is
// the control that shows what an adversary is worth (docs/method.md, Pairs).
type RandomAdversary struct {
	Family domain.Family
	// Word returns the answer with an action, in the wording of the agents' policies.
	Word func(action domain.Action, observation domain.Observation) string
	// Fits reports whether the policies can write an answer to a prompt. If it is nil, they can write any answer.
	Fits func(prompt, answer string) bool
}

// Numbers of random actions.
const (
	maxWords = 3  // the most words that an action copies from the prompt
	maxDraws = 50 // draws per requested answer, after which fewer answers are returned
)

// Propose returns n answers with different canonical actions, which differ from the cell's own action. Each is drawn by
// the seed: first the type of action, then its arguments, uniformly over what the cell's prompt shows. Fewer are
// returned if there are not enough. Acts of speech are not drawn.
func (r RandomAdversary) Propose(step domain.Step, cell domain.Cell, n int, seed uint64) []string {
	rng := domain.Rand(seed, "random actions")
	shown := argumentsOf(r.Family, step, cell)
	kinds := slices.DeleteFunc(randomForms(r.Family), func(form domain.Action) bool { return !shown.allow(form) })

	var out []string
	drawn := map[string]bool{cell.Canonical: true}
	for range n * maxDraws {
		if len(out) == n || len(kinds) == 0 {
			break
		}
		action := shown.fill(rng, kinds[rng.IntN(len(kinds))])
		canonical := action.Canonical(step.Observation)
		if drawn[canonical] || action.Validate() != nil {
			continue
		}
		answer := r.Word(action, step.Observation)
		if r.Fits != nil && !r.Fits(cell.Prompt, answer) {
			continue
		}
		drawn[canonical] = true
		out = append(out, answer)
	}

	return out
}

// randomForms returns an action of every type of a family with its necessary fields. Types with an address or the
// number of a tab are left out, because screens do not show them.
func randomForms(family domain.Family) []domain.Action {
	var out []domain.Action
	for _, form := range domain.Samples(family) {
		if form.Type == domain.ActionJumpTo || form.Type == domain.ActionSwitchTab {
			continue
		}
		form.PressEnter = false
		for _, shorten := range []func(*domain.Action){
			func(a *domain.Action) { a.Index = nil },
			func(a *domain.Action) { a.Message = "" },
			func(a *domain.Action) { a.Answer = "" },
		} {
			short := form
			if shorten(&short); short.Validate() == nil {
				form = short
			}
		}
		out = append(out, form)
	}

	return out
}

// arguments holds what random actions can name on a prompt.
type arguments struct {
	elements []domain.Element
	fields   []domain.Element // the elements that take text
	selects  []domain.Element // the elements that offer options
	lines    [][]string       // the words of the goal and of the elements
}

// argumentsOf returns what an action of a family can name on the prompt of a cell.
func argumentsOf(family domain.Family, step domain.Step, cell domain.Cell) arguments {
	var out arguments
	addLine := func(text string) {
		if words := strings.Fields(text); len(words) > 0 {
			out.lines = append(out.lines, words)
		}
	}
	addLine(step.Goal)
	for _, element := range step.Observation.Elements {
		named := family != domain.FamilyWeb || element.ID != "" && element.ID != domain.NoID
		if !named || !legal(domain.Action{}.At(element.Index), step, cell) {
			continue
		}
		addLine(element.Text)
		out.elements = append(out.elements, element)
		if element.Editable {
			out.fields = append(out.fields, element)
		}
		if element.Role == domain.RoleSelect {
			out.selects = append(out.selects, element)
		}
	}

	return out
}

// targets returns the elements that an action of the form can name.
func (a arguments) targets(form domain.Action) []domain.Element {
	switch form.Type {
	case domain.ActionInputText, domain.ActionTypeString:
		return a.fields
	case domain.ActionSelect:
		return a.selects
	}

	return a.elements
}

// allow reports whether the prompt shows arguments for an action of the form.
func (a arguments) allow(form domain.Action) bool {
	if (form.Index != nil || form.Element != "") && len(a.targets(form)) == 0 {
		return false
	}

	return form.Text+form.AppName+form.Option == "" || len(a.lines) > 0
}

// directions and goalStatuses are the values of which random actions take one. Not every type takes every direction.
var (
	directions   = []string{"up", "down", "left", "right", "forward", "backward"}
	goalStatuses = []string{domain.StatusComplete, domain.StatusInfeasible}
)

// fill returns an action of the form with other arguments. It may be invalid, with a direction that its type lacks.
func (a arguments) fill(rng *rand.Rand, form domain.Action) domain.Action {
	if targets := a.targets(form); form.Index != nil || form.Element != "" {
		target := targets[rng.IntN(len(targets))]
		if form.Index != nil {
			form = form.At(target.Index)
		} else {
			form.Element = target.ID
		}
	}
	for _, text := range []*string{&form.Text, &form.AppName, &form.Option} {
		if *text != "" {
			*text = a.words(rng)
		}
	}
	if form.Direction != "" {
		form.Direction = directions[rng.IntN(len(directions))]
	}
	if form.GoalStatus != "" {
		form.GoalStatus = goalStatuses[rng.IntN(len(goalStatuses))]
	}

	return form
}

// words returns some successive words of the goal or of an element.
func (a arguments) words(rng *rand.Rand) string {
	line := a.lines[rng.IntN(len(a.lines))]
	first := rng.IntN(len(line))
	count := 1 + rng.IntN(min(maxWords, len(line)-first))

	return strings.Join(line[first:first+count], " ")
}
