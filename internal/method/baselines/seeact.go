package baselines

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/method/chat"
)

// choose makes two requests, in the manner of SeeAct (Zheng et al. 2024): the first for an analysis in words, the
// second for the letter of an element, with a verb and a value.
func (c *call) choose(ctx context.Context, d data, o domain.Observation, images []chat.Image) (domain.Cell, error) {
	response, _, err := c.request(ctx, "system", "user", "analysis", d, images)
	if err != nil {
		return domain.Cell{}, err
	}
	analysis := response.Texts[0]
	d.Analysis = clip(analysis, maxAnalysis)
	choices := letteredElements(o)
	for i, element := range choices {
		d.Choices = append(d.Choices, letter(i)+". "+description(element))
	}
	d.Choices = append(d.Choices, letter(len(choices))+". None of the other options")
	for _, v := range verbs[c.agent.Family] {
		d.Verbs = append(d.Verbs, v.help)
	}

	response, prompt, err := c.request(ctx, "ground-system", "ground", "ground", d, images)
	if err != nil {
		return domain.Cell{}, err
	}
	cell := domain.Cell{Text: response.Texts[0], Prompt: prompt, Thought: analysis}
	act, err := parseGrounded(response.Texts[0], choices, c.agent.Family)
	if err != nil {
		cell.ParseError = err.Error()

		return cell, nil
	}
	cell.Action = &act
	cell.Canonical = act.Canonical(o)

	return cell, nil
}

// letteredElements returns the elements that can be chosen, from top to bottom and then from left to right.
func letteredElements(observation domain.Observation) []domain.Element {
	var out []domain.Element
	for _, element := range (agents.View{Observation: observation}).Shown() {
		if element.ID != domain.NoID {
			out = append(out, element)
		}
	}
	slices.SortStableFunc(out, func(a, b domain.Element) int {
		return cmp.Or(cmp.Compare(a.Bounds[1], b.Bounds[1]), cmp.Compare(a.Bounds[0], b.Bounds[0]))
	})

	return out
}

// description returns the line of an element without the name that actions use.
func description(element domain.Element) string {
	_, rest, _ := strings.Cut(agents.ModelLimits.ElementLine(element), " ")

	return rest
}

// letter returns the letters of choice i, which are A to Z, then AA to ZZ.
func letter(i int) string {
	const n = 26
	if i < n {
		return string(rune('A' + i))
	}

	return string(rune('A'+i/n-1)) + string(rune('A'+i%n))
}

// verb is the name of an action in SeeAct's answers.
type verb struct {
	name         string
	help         string
	act          domain.Action // the action without the answer's element and value
	needsElement bool          // whether it needs an element
	fill         func(a *domain.Action, value string)
}

func text(action *domain.Action, value string)   { action.Text = value }
func app(action *domain.Action, value string)    { action.AppName = value }
func option(action *domain.Action, value string) { action.Option = value }
func url(action *domain.Action, value string)    { action.URL = value }
func answer(action *domain.Action, value string) { action.Answer = value }

func mobile(kind string) domain.Action { return domain.Action{Type: kind} }
func web(kind string) domain.Action    { return domain.Action{Family: domain.FamilyWeb, Type: kind} }

func withDirection(action domain.Action, direction string) domain.Action {
	action.Direction = direction

	return action
}

func status(goal string) domain.Action {
	return domain.Action{Type: domain.ActionStatus, GoalStatus: goal}
}

// verbs lists the verbs of both action families. If one name begins with another, the longer one comes first.
var verbs = map[domain.Family][]verb{
	domain.FamilyMobile: {
		{"CLICK", "CLICK: tap the chosen element", mobile(domain.ActionClick), true, nil},
		{"LONG PRESS", "LONG PRESS: press the chosen element long", mobile(domain.ActionLongPress), true, nil},
		{"TYPE", "TYPE: type VALUE into the chosen element", mobile(domain.ActionInputText), true, text},
		{"PRESS ENTER", "PRESS ENTER", mobile(domain.ActionEnter), false, nil},
		{"SCROLL UP", "SCROLL UP", withDirection(mobile(domain.ActionScroll), "up"), false, nil},
		{"SCROLL DOWN", "SCROLL DOWN", withDirection(mobile(domain.ActionScroll), "down"), false, nil},
		{"BACK", "BACK: go back", mobile(domain.ActionBack), false, nil},
		{"HOME", "HOME: go to the home screen", mobile(domain.ActionHome), false, nil},
		{"OPEN APP", "OPEN APP: open the app VALUE", mobile(domain.ActionOpenApp), false, app},
		{"WAIT", "WAIT", mobile(domain.ActionWait), false, nil},
		{"ANSWER", "ANSWER: answer the user's question with VALUE", mobile(domain.ActionAnswer), false, text},
		{"TERMINATE", "TERMINATE: the goal is reached", status(domain.StatusComplete), false, nil},
		{"GIVE UP", "GIVE UP: the goal cannot be reached", status(domain.StatusInfeasible), false, nil},
	},
	domain.FamilyWeb: {
		{"CLICK", "CLICK: click the chosen element", web(domain.ActionClick), true, nil},
		{"HOVER", "HOVER: move the mouse over the chosen element", web(domain.ActionHover), true, nil},
		{"SELECT", "SELECT: choose the option VALUE of the chosen element", web(domain.ActionSelect), true, option},
		{"TYPE", "TYPE: type VALUE into the chosen element", web(domain.ActionTypeString), true, text},
		{"SCROLL UP", "SCROLL UP", withDirection(web(domain.ActionScrollPage), "up"), false, nil},
		{"SCROLL DOWN", "SCROLL DOWN", withDirection(web(domain.ActionScrollPage), "down"), false, nil},
		{"BACK", "BACK: go back", withDirection(web(domain.ActionGo), "backward"), false, nil},
		{"FORWARD", "FORWARD: go forward", withDirection(web(domain.ActionGo), "forward"), false, nil},
		{"GO TO", "GO TO: open the address VALUE", web(domain.ActionJumpTo), false, url},
		{"TERMINATE", "TERMINATE: the goal is reached; VALUE answers a question, if there was one",
			web(domain.ActionFinish), false, answer},
	},
}

// parseGrounded parses an answer of three lines, ELEMENT, ACTION and VALUE, and returns its action.
func parseGrounded(reply string, choices []domain.Element, family domain.Family) (domain.Action, error) {
	name := strings.ToUpper(line(reply, "action"))
	value := line(reply, "value")
	if name == "" {
		return domain.Action{}, errors.New("answer has no line 'ACTION: …'")
	}
	i := slices.IndexFunc(verbs[family], func(v verb) bool { return strings.HasPrefix(name, v.name) })
	if i < 0 {
		return domain.Action{}, fmt.Errorf("unknown action %q", name)
	}

	v := verbs[family][i]
	action := v.act
	if v.needsElement {
		element, err := chosenElement(line(reply, "element"), choices)
		if err != nil {
			return action, err
		}
		if family == domain.FamilyMobile {
			action = action.At(element.Index)
		} else {
			action.Element = element.ID
		}
	}
	if none := strings.EqualFold(value, "none"); v.fill != nil && !none {
		v.fill(&action, value)
	}

	return action, action.Validate()
}

// line returns the text after the name and a colon in the last line that begins with them, or "". The name may be
// emphasised.
func line(reply, name string) string {
	found := ""
	for l := range strings.Lines(reply) {
		before, value, ok := strings.Cut(l, ":")
		if ok && strings.EqualFold(strings.Trim(before, " *-#"), name) {
			found = strings.Trim(value, " *\r\n")
		}
	}

	return found
}

// chosenElement returns the element that a letter names.
func chosenElement(reply string, choices []domain.Element) (domain.Element, error) {
	wanted, _, _ := strings.Cut(strings.Trim(strings.ToUpper(reply), " .*()"), ".")
	for i, element := range choices {
		if letter(i) == strings.TrimSpace(wanted) {
			return element, nil
		}
	}

	return domain.Element{}, fmt.Errorf("%q is not the letter of an element", wanted)
}

// clip cuts a text after limit characters.
func clip(s string, limit int) string {
	if r := []rune(s); len(r) > limit {
		return string(r[:limit]) + "…"
	}

	return s
}
