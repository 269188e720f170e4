package credit

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/method/chat"
	"github.com/collabui/collabui/internal/method/prompts"
)

// talk is a policy for each agent: it returns the answer to a prompt, or "" to refuse it.
type talk []func(prompt string) string

func (p talk) Complete(_ context.Context, request chat.Request) (chat.Response, error) {
	answer := p[int(request.Model[0]-'0')](request.User)
	if answer == "" {
		return chat.Response{}, fault.New(fault.Refused, "no")
	}

	return chat.Response{Texts: []string{answer}, Usage: domain.Usage{Prompt: 1}}, nil
}

// Answers of agents. click(right) is right.
const right = 3

func tell(words string) string {
	return fmt.Sprintf("Reason: r\nAction: {\"action_type\":\"tell\",\"text\":%q}", words)
}

const pass = "Reason: r\nAction: {\"action_type\":\"pass\"}"

func always(answer string) func(string) string { return func(string) string { return answer } }

// after returns the policy of an agent that answers one thing to prompts that contain words, and another to all others.
func after(words, with, without string) func(string) string {
	return func(prompt string) string {
		if strings.Contains(prompt, words) {
			return with
		}

		return without
	}
}

// scene is a step of agents that may speak, with the answers that are proposed instead of passes.
type scene struct {
	policies talk
	edges    [][2]int
	rounds   int
	back     bool
	instead  []string // "" refuses the call
	asks     int      // 0 means many
	limit    int      // characters of a prompt, if above 0
}

// play decides the step and returns it with a listening on it.
func (s scene) play(t *testing.T) (domain.Step, *Listening) {
	t.Helper()
	template, err := agents.NewTemplate(builtIn(t, prompts.Agent), domain.FamilyMobile, true)
	if err != nil {
		t.Fatal(err)
	}
	if s.limit > 0 {
		template = template.Bounded(func(user string) int { return max(0, len(user)-s.limit) })
	}
	conf := agents.Config{
		Topology: domain.Topology{Agents: len(s.policies), Edges: s.edges}, Rounds: max(1, s.rounds), Speech: true,
		Template: template, TopP: 1,
	}
	for agent := range s.policies {
		conf.Policies = append(conf.Policies, fmt.Sprint(agent))
		conf.Temperature = append(conf.Temperature, 0.5)
	}
	if s.back {
		conf.Reads = agents.ReadBack
	}
	out := step(4, right, [][]int{{0}})
	out.Goal = "press the button"
	view := agents.View{Goal: out.Goal, Observation: out.Observation}
	if out.Decision, err = agents.Decide(t.Context(), s.policies, conf, view, 11); err != nil {
		t.Fatal(err)
	}
	asks := s.asks
	if asks == 0 {
		asks = 1000
	}

	return out, &Listening{
		Config: conf, Seed: func(int) uint64 { return 11 }, Candidates: 4, Grade: OracleGrade, Asks: asks,
		Answer: func(ctx context.Context, request chat.Request, asked *Asked) error {
			response, err := s.policies.Complete(ctx, request)
			asked.Texts, asked.Usage = response.Texts, response.Usage

			return err
		},
		Propose: func(_ context.Context, _ domain.Step, _ domain.Cell, _ int, asked *Asked) error {
			if slices.Contains(s.instead, "") {
				return fault.New(fault.Refused, "no")
			}
			asked.Texts = s.instead

			return nil
		},
	}
}

// label plays the scene and labels it.
func (s scene) label(t *testing.T) (domain.Step, domain.Credit, *Listening) {
	t.Helper()
	played, listening := s.play(t)
	credit, err := listening.Label(t.Context(), played, Oracle(played))
	if err != nil {
		t.Fatal(err)
	}

	return played, credit, listening
}

func TestAMessageIsLabelledByWhatItChanges(t *testing.T) {
	forward := [][2]int{{0, 1}}
	hears := talk{always(tell("seven")), after("seven", click(right), click(5))}
	one, no, unsure := domain.Positive, domain.Negative, domain.Uncertain
	for name, c := range map[string]struct {
		scene scene
		want  []domain.Label
		calls int
	}{
		"its reader is right with it": {scene{policies: hears, edges: forward}, []domain.Label{one, one}, 1},
		"nobody reads it":             {scene{policies: hears}, []domain.Label{unsure, no}, 0},
		"its reader is wrong with it": {scene{
			policies: talk{always(tell("seven")), after("seven", click(5), click(right))}, edges: forward,
		}, []domain.Label{no, no}, 1},
		"it changes nothing": {scene{
			policies: talk{always(tell("seven")), always(click(right))}, edges: forward,
		}, []domain.Label{unsure, one}, 1},
		"a pointer is a message, too": {scene{
			policies: talk{
				always("Action: {\"action_type\":\"point\",\"index\":8}"), after("\"point\"", click(right), click(5)),
			},
			edges: forward,
		}, []domain.Label{one, one}, 1},
		"its reader would speak without it": {scene{
			policies: talk{always(tell("seven")), after("seven", click(right), pass)}, edges: forward,
		}, []domain.Label{one, one}, 1},
		"its reader speaks, and would be right without it": {scene{
			policies: talk{always(tell("seven")), after("seven", tell("eight"), click(right))}, edges: forward,
		}, []domain.Label{no, unsure}, 1},
		"a reader that does not parse is wrong": {scene{
			policies: talk{always(tell("seven")), after("seven", click(right), "what?")}, edges: forward,
		}, []domain.Label{one, one}, 1},
		"as many readers gain as lose": {scene{
			policies: talk{
				always(tell("seven")), after("seven", click(right), click(5)), after("seven", click(5), click(right)),
			},
			edges: [][2]int{{0, 1}, {0, 2}},
		}, []domain.Label{unsure, one, no}, 2},
		"who reads its reader is no reader": {scene{
			policies: talk{
				always(tell("seven")), after("seven", click(right), click(5)),
				after("index\":3", click(5), click(right)),
			},
			edges: [][2]int{{0, 1}, {1, 2}},
		}, []domain.Label{one, one, no}, 1},
		"a reader that refuses does not count": {scene{
			policies: talk{always(tell("seven")), after("seven", click(right), "")}, edges: forward,
		}, []domain.Label{unsure, one}, 1},
		"in the next round, its predecessor reads it": {scene{
			policies: talk{after("seven", click(right), pass), always(tell("seven"))}, edges: forward, rounds: 2,
			back: true, instead: []string{pass},
		}, []domain.Label{one, one, one, unsure}, 2},
		"but only with reading back": {scene{
			policies: talk{after("seven", click(right), click(5)), always(tell("seven"))}, edges: forward, rounds: 2,
		}, []domain.Label{no, no, unsure, unsure}, 0},
		"two readers are one more than the bound": {scene{
			policies: talk{
				always(tell("seven")), after("seven", click(right), click(5)), after("seven", click(right), click(5)),
			},
			edges: [][2]int{{0, 1}, {0, 2}}, asks: 1,
		}, []domain.Label{unsure, one, one}, 0},
		"a prompt that is cut is rendered again as it was cut": {
			scene{policies: hears, edges: forward, limit: 270}, []domain.Label{one, one}, 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			played, credit, listening := c.scene.label(t)
			if !slices.Equal(credit.Labels, c.want) {
				t.Errorf("labels %v, want %v", credit.Labels, c.want)
			}
			if len(listening.Asked) != c.calls {
				t.Errorf("%d calls, want %d", len(listening.Asked), c.calls)
			}
			if cut := played.Decision.Cells[1].LeftOut.Any(); cut != (c.scene.limit > 0) {
				t.Errorf("the reader's prompt is cut: %v", cut)
			}
		})
	}
}

func TestAPassIsWrongIfAnAnswerWouldHaveHelped(t *testing.T) {
	forward := [][2]int{{0, 1}}
	hears := talk{always(pass), after("seven", click(right), click(5))}
	for name, c := range map[string]struct {
		scene scene
		want  domain.Label
		calls int
	}{
		"a right action": {scene{policies: hears, instead: []string{click(5), click(right)}}, domain.Negative, 1},
		"a wrong action": {scene{policies: hears, instead: []string{click(5), pass, "what?"}}, domain.Positive, 1},
		"a message that helps": {
			scene{policies: hears, edges: forward, instead: []string{tell("seven"), tell("seven")}}, domain.Negative, 2,
		},
		"a message that does not help": {
			scene{policies: hears, edges: forward, instead: []string{tell("six"), click(5)}}, domain.Positive, 2,
		},
		"a message that harms": {scene{
			policies: talk{always(pass), after("seven", click(5), click(right))}, edges: forward,
			instead: []string{tell("seven")},
		}, domain.Positive, 2},
		"a message that nobody reads": {scene{policies: hears, instead: []string{tell("seven")}}, domain.Positive, 1},
		"the model refuses":           {scene{policies: hears, instead: []string{""}}, domain.Uncertain, 1},
		"more answers than the bound": {
			scene{policies: hears, instead: []string{click(right)}, asks: 3}, domain.Uncertain, 0,
		},
		"its reader is beyond the bound": {
			scene{policies: hears, edges: forward, instead: []string{tell("seven")}, asks: 4}, domain.Uncertain, 1,
		},
		"beyond the bound, but one helps": {
			scene{policies: hears, edges: forward, instead: []string{tell("six"), click(right)}, asks: 4},
			domain.Negative, 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, credit, listening := c.scene.label(t)
			if credit.Labels[0] != c.want || len(listening.Asked) != c.calls {
				t.Errorf("label %v after %d calls, want %v after %d", credit.Labels[0], len(listening.Asked), c.want,
					c.calls)
			}
		})
	}
}

func TestTheRecordOfAnEffect(t *testing.T) {
	s := scene{
		policies: talk{always(pass), after("seven", click(right), click(5)), always(tell("six"))},
		edges:    [][2]int{{0, 1}, {2, 1}}, rounds: 2, instead: []string{click(5), tell("seven")},
	}
	played, credit, listening := s.label(t)
	readings := func(reader int, text string, with, without domain.Label) []domain.Reading {
		canonical := agents.Reader{Speech: true}.Cell(0, 0, text, "", played.Observation).Canonical

		return []domain.Reading{{Cell: reader, Text: text, Canonical: canonical, With: with, Without: without}}
	}
	passed := func(cell, reader int) domain.Effect {
		return domain.Effect{Cell: cell, Instead: []domain.Alternative{
			{Text: click(5), Canonical: "click index=5", Label: domain.Negative},
			{
				Text: tell("seven"), Canonical: `tell text="seven"`, Label: domain.Positive,
				Readers: readings(reader, click(right), domain.Negative, domain.Positive),
			},
		}}
	}
	said := func(cell, reader int) domain.Effect {
		return domain.Effect{Cell: cell, Readers: readings(reader, click(5), domain.Negative, domain.Negative)}
	}
	want := []domain.Effect{passed(0, 2), passed(1, 3), said(4, 2), said(5, 3)}
	if !reflect.DeepEqual(credit.Effects, want) {
		t.Errorf("effects\n%+v, want\n%+v", credit.Effects, want)
	}

	again := *listening
	again.Asked, again.Spent = nil, nil
	repeated, err := again.Label(t.Context(), played, Oracle(played))
	if err != nil || !reflect.DeepEqual(repeated, credit) || !reflect.DeepEqual(again.Asked, listening.Asked) {
		t.Errorf("labelling again gives %+v, %v, want the same as before", repeated, err)
	}
	var order [][2]int
	for _, asked := range listening.Asked {
		order = append(order, [2]int{asked.Agent, asked.Round})
	}
	if want := [][2]int{{0, 0}, {1, 0}, {0, 1}, {1, 1}, {1, 0}, {1, 1}}; !reflect.DeepEqual(order, want) {
		t.Errorf("calls of the agents and rounds %v, want %v", order, want)
	}
}

// TestAnAnswerIsSampledAsItsCellWas checks that the call without a change would be the recorded one.
func TestAnAnswerIsSampledAsItsCellWas(t *testing.T) {
	played, listening := scene{
		policies: talk{always(tell("seven")), after("seven", click(right), click(5))}, edges: [][2]int{{0, 1}},
	}.play(t)
	var got []chat.Request
	answer := listening.Answer
	listening.Answer = func(ctx context.Context, request chat.Request, asked *Asked) error {
		got = append(got, request)

		return answer(ctx, request, asked)
	}
	if _, err := listening.Label(t.Context(), played, Oracle(played)); err != nil || len(got) != 1 {
		t.Fatalf("%d calls, %v, want one", len(got), err)
	}
	request := got[0]
	if request.Seed != domain.Seed(11, "cell", 1, 0) || request.Temperature != 0.5 || request.Model != "1" {
		t.Errorf("the call is %+v, want the seed, the temperature and the model of the reader's cell", request)
	}
	if strings.Contains(request.User, "seven") || !strings.Contains(request.User, "press the button") {
		t.Errorf("the prompt is\n%s\nwant the recorded one without the message", request.User)
	}
	changed := played
	changed.Goal = "press another button" // the prompts are no longer those of the record
	credit, err := listening.Label(t.Context(), changed, Oracle(changed))
	if err != nil || len(got) != 1 || credit.Labels[0] != domain.Uncertain {
		t.Errorf("label %v, %d calls, %v; want no label of a prompt that is not as it was", credit.Labels[0], len(got),
			err)
	}
}
