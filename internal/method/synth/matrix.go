package synth

import (
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/agents"
)

// Scene is a step of a demonstration, with what the environment knows about it.
type Scene struct {
	agents.View                 // of all agents together
	Right       []domain.Action // the actions that help now
	// Because holds, for each action of Right, the indices of the elements that support it. If it is nil, an action is
	// supported by the element that it names.
	Because [][]int
}

// Matrix returns an example for every cell of an action matrix: the prompt of an agent that sees its part of the
// screen, and the answer of an expert who knows what the agent knows. The agents hear each other as config specifies.
// If decision is nil, they hear the expert's answers, otherwise what they said in the decision, right or wrong. Of the
// expert's answers, each cell has the best one that the policy can write. Errors are errors of the agents' template.
func (target Target) Matrix(config agents.Config, scene Scene, decision *domain.Decision) ([]domain.Example, error) {
	order, err := config.Topology.Order()
	if err != nil {
		return nil, err
	}
	views := config.AgentViews(scene.View)
	said := map[agents.Source]string{}
	if decision != nil {
		for _, cell := range decision.Cells {
			if cell.Refused == "" {
				said[agents.Source{Agent: cell.Agent, Round: cell.Round}] = cell.Text
			}
		}
	}

	var out []domain.Example
	for round := range config.Rounds {
		for _, agent := range order {
			own := said[agents.Source{Agent: agent, Round: round - 1}]
			heard := config.Messages(agent, round, func(source agents.Source) (string, bool) {
				text, ok := said[source]

				return text, ok
			})
			prompt, err := target.Template.User(views[agent], own, heard)
			if err != nil {
				return nil, err
			}
			for _, action := range scene.answers(views[agent], heard, round) {
				text := target.Word(action, scene.Observation)
				if target.Notes {
					text = agents.WithNote(text, scene.Note(action, scene.known(views[agent], heard)))
				}
				if target.Fits != nil && !target.Fits(prompt, text) {
					continue
				}
				if decision == nil {
					said[agents.Source{Agent: agent, Round: round}] = text
				}
				out = append(out, domain.Example{
					Agent: agent, Round: round, Prompt: prompt, Image: views[agent].Picture.Digest, Chosen: text,
					ChosenCanonical: action.Canonical(scene.Observation), Weight: 1, Source: domain.SourceExpert,
				})
				break
			}
		}
	}

	return out, nil
}

// Mistaken returns the share of a decision's cells that differ from the right actions and from what the expert would
// have said to the same prompt.
func (scene Scene) Mistaken(decision domain.Decision, expert []domain.Example) float64 {
	fits := map[agents.Source]string{}
	for _, example := range expert {
		fits[agents.Source{Agent: example.Agent, Round: example.Round}] = example.ChosenCanonical
	}
	mistakes := 0
	for _, cell := range decision.Cells {
		right := cell.Canonical == fits[agents.Source{Agent: cell.Agent, Round: cell.Round}]
		for _, action := range scene.Right {
			right = right || cell.Canonical == action.Canonical(scene.Observation)
		}
		if !right {
			mistakes++
		}
	}

	return float64(mistakes) / float64(max(1, len(decision.Cells)))
}

// answers returns what an expert may do who knows only what an agent sees and hears, the best first: right actions
// whose support is known; right actions that a peer names and that the agent sees a part of the support for; telling or
// pointing at the parts of the support that the goal or a peer mentions; and passing. It tells others what it was told,
// but points only at what it sees.
func (scene Scene) answers(view agents.View, heard []agents.Message, round int) []domain.Action {
	known := scene.known(view, heard)
	named := map[string]bool{} // canonical actions of peers
	mentioned := mentionedWords(view.Goal)
	for _, message := range heard {
		if action, ok := agents.ParseMessage(message.Text); ok {
			named[action.Canonical(scene.Observation)] = true
			maps.Copy(mentioned, mentionedWords(action.Text))
		}
	}

	var actions, confirmed, targets []domain.Action
	var facts []string
	for i, action := range scene.Right {
		support, complete := scene.support(i)
		seen := 0
		for _, element := range support {
			complete = complete && known[element.Index]
			sees := view.Seen == nil || slices.Contains(view.Seen, element.Index)
			if sees {
				seen++
			}
			target, ok := action.Named(scene.Observation)
			switch {
			case !known[element.Index] || mentions(element, mentioned) == 0:
			case ok && element.Index == target.Index:
				if sees && distinct(element, view, mentioned) {
					targets = append(targets, pointAt(element, action.Family))
				}
			default:
				facts = append(facts, strings.TrimSpace(element.Text))
			}
		}
		switch {
		case complete:
			actions = append(actions, action)
		case seen > 0 && named[action.Canonical(scene.Observation)]:
			confirmed = append(confirmed, action)
		}
	}

	out := append(actions, confirmed...)
	family := scene.family()
	if len(facts) > 0 { // one after the other, if there are several
		out = append(out, domain.Action{Family: family, Type: domain.ActionTell, Text: facts[round%len(facts)]})
	}
	out = append(out, targets...)

	return append(out, domain.Action{Family: family, Type: domain.ActionPass})
}

// family returns the family of the right actions.
func (scene Scene) family() domain.Family {
	if len(scene.Right) == 0 {
		return domain.FamilyMobile
	}

	return scene.Right[0].Family
}

// pointAt returns the act of speech that points at an element.
func pointAt(element domain.Element, family domain.Family) domain.Action {
	action := domain.Action{Family: family, Type: domain.ActionPoint}
	if family == domain.FamilyWeb {
		action.Element = element.ID

		return action
	}

	return action.At(element.Index)
}

// support returns the elements that support action i of Right, and whether they are all that supports it. A fact of an
// earlier screen supports it if it is noted.
func (scene Scene) support(i int) (elements []domain.Element, complete bool) {
	if scene.Because == nil {
		if element, ok := scene.Right[i].Named(scene.Observation); ok {
			elements = append(elements, element)
		}

		return elements, true
	}
	complete = true
	for _, index := range scene.Because[i] {
		element, ok := scene.Observation.Element(index)
		if !ok {
			complete = complete && scene.noted(scene.Right[i])
			continue
		}
		elements = append(elements, element)
	}

	return elements, complete
}

// Note returns what an expert notes who takes an action: the texts of the elements that support a right action, but of
// which neither the action nor its element has a word, so that only a later step can need them. Elements that are not
// known are left out; if known is nil, all are known. It returns "" for other actions, and if there is nothing to note.
func (scene Scene) Note(action domain.Action, known map[int]bool) string {
	i := slices.IndexFunc(scene.Right, func(right domain.Action) bool {
		return right.Canonical(scene.Observation) == action.Canonical(scene.Observation)
	})
	if i < 0 {
		return ""
	}
	target, _ := action.Named(scene.Observation)
	used := mentionedWords(strings.Join(append(action.Words(), target.Text), " "))
	support, _ := scene.support(i)
	var facts []string
	for _, element := range support {
		unknown := known != nil && !known[element.Index]
		text := strings.TrimSpace(element.Text)
		if !unknown && text != "" && element.Index != target.Index && mentions(element, used) == 0 {
			facts = append(facts, text)
		}
	}

	return strings.Join(facts, "; ")
}

// noted reports whether the notes have all words of an action, and at least one.
func (scene Scene) noted(action domain.Action) bool {
	notes := mentionedWords(agents.Notes(scene.History))
	words := mentionedWords(strings.Join(action.Words(), " "))
	for word := range words {
		if !notes[word] {
			return false
		}
	}

	return len(words) > 0
}

// known returns the elements that an agent knows: those that it sees, those that a peer names, and those whose text a
// peer tells.
func (scene Scene) known(view agents.View, heard []agents.Message) map[int]bool {
	known := map[int]bool{}
	for _, element := range view.Shown() {
		known[element.Index] = true
	}
	for _, message := range heard {
		action, ok := agents.ParseMessage(message.Text)
		if !ok {
			continue
		}
		if element, named := action.Named(scene.Observation); named {
			known[element.Index] = true
		}
		for _, element := range scene.Observation.Elements {
			if text := strings.TrimSpace(element.Text); text != "" && text == strings.TrimSpace(action.Text) {
				known[element.Index] = true
			}
		}
	}

	return known
}

// minMentioned is the length in characters from which words count as mentioned, unless they are in frequentWords.
const minMentioned = 3

// frequentWords are words of goals that mention nothing.
var frequentWords = map[string]bool{"and": true, "for": true, "from": true, "into": true, "its": true, "of": true,
	"that": true, "the": true, "under": true, "what": true, "who": true, "with": true}

// mentionedWords returns the words of a text that mention something, in lower case.
func mentionedWords(text string) map[string]bool {
	out := map[string]bool{}
	for _, word := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '-' && r != ':'
	}) {
		if len([]rune(word)) >= minMentioned && !frequentWords[word] || strings.ContainsAny(word, "0123456789") {
			out[word] = true
		}
	}

	return out
}

// mentions returns the number of mentioned words that an element shares.
func mentions(element domain.Element, mentioned map[string]bool) int {
	count := 0
	for word := range mentionedWords(element.Text) {
		if mentioned[word] {
			count++
		}
	}

	return count
}

// distinct reports whether an element shares more mentioned words than any other element of its role in the view, so
// that an agent can know which one is meant.
func distinct(element domain.Element, view agents.View, mentioned map[string]bool) bool {
	most := mentions(element, mentioned)
	for _, other := range view.Shown() {
		if other.Index != element.Index && other.Role == element.Role && mentions(other, mentioned) >= most {
			return false
		}
	}

	return true
}
