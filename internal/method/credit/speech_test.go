package credit

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/method/chat"
	"github.com/collabui/collabui/internal/method/prompts"
)

// effectRules pair by the effects of messages.
var effectRules = Rules{
	Candidates: 4, Negatives: 4, Cells: FirstCells, PerStep: 9, PerEpisode: 9, Speech: SpeechByEffect,
	Answers: agents.Reader{Speech: true},
}

// pairsOf plays and labels a scene, and pairs it by rules. The adversary proposes texts.
func pairsOf(t *testing.T, s scene, r Rules, texts ...string) ([]domain.Example, PairCounts) {
	t.Helper()
	played, credit, listening := s.label(t)
	r.Topology, r.Reads = listening.Config.Topology, listening.Config.Reads
	adversary := func(context.Context, domain.Step, domain.Cell, int) ([]Proposal, error) {
		var out []Proposal
		for _, text := range texts {
			out = append(out, Proposal{Text: text})
		}

		return out, nil
	}
	maker := Maker{Rules: r, Adversary: adversary, Grade: OracleGrade, Substitute: listening.Substitute}
	pairs, counts, err := maker.Pairs(t.Context(), oneStep(played, credit))
	if err != nil {
		t.Fatal(err)
	}

	return pairs, counts
}

// said returns the agent, the round, the source and the actions of every pair.
func said(pairs []domain.Example) (out []string) {
	for _, p := range pairs {
		out = append(out, fmt.Sprintf("%d.%d %s: %s > %s", p.Agent, p.Round, p.Source, p.ChosenCanonical,
			p.RejectedCanonical))
	}

	return out
}

func TestPairsOfSpeech(t *testing.T) {
	forward := [][2]int{{0, 1}}
	hears := talk{always(tell("seven")), after("seven", click(right), click(5))}
	resist := effectRules
	resist.Resist = true
	asAction := effectRules
	asAction.Speech = SpeechAsAction
	unlabelled := effectRules
	unlabelled.Speech = SpeechUnlabelled
	for name, c := range map[string]struct {
		scene scene
		rules Rules
		texts []string
		want  []string
	}{
		"where an action is right, a pass is wrong, and other speech is neither": {
			scene{policies: talk{always(click(right))}}, effectRules, []string{pass, tell("six")},
			[]string{"0.0 adversary: click index=3 > pass"},
		},
		"speech without labels is never rejected": {
			scene{policies: talk{always(click(right))}}, unlabelled, []string{pass, tell("six")}, nil,
		},
		"as an action, all speech is wrong": {
			scene{policies: talk{always(click(right))}}, asAction, []string{pass, tell("six")},
			[]string{"0.0 adversary: click index=3 > pass", `0.0 adversary: click index=3 > tell text="six"`},
		},
		"what is said in the place of a right message is wrong if it loses readers": {
			scene{policies: hears, edges: forward}, effectRules,
			[]string{tell("six"), tell("seven of"), pass, click(right)},
			[]string{
				`0.0 adversary: tell text="seven" > tell text="six"`, `0.0 adversary: tell text="seven" > pass`,
				"1.0 adversary: click index=3 > pass",
			},
		},
		"and so is a wrong action": {
			scene{policies: hears, edges: forward}, effectRules, []string{click(5)},
			[]string{
				`0.0 adversary: tell text="seven" > click index=5`, "1.0 adversary: click index=3 > click index=5",
			},
		},
		"the alternatives to a right pass that are wrong": {
			scene{
				policies: talk{always(pass), after("seven", click(5), click(right))}, edges: forward,
				instead: []string{click(5), tell("seven"), tell("six")},
			},
			effectRules, nil,
			[]string{"0.0 adversary: pass > click index=5", `0.0 adversary: pass > tell text="seven"`},
		},
		"what would have helped is chosen over a wrong pass": {
			scene{
				policies: talk{always(pass), after("seven", click(right), click(5))}, edges: forward,
				instead: []string{click(5), tell("seven"), click(right)},
			},
			effectRules, nil,
			[]string{`0.0 instead: tell text="seven" > pass`, "0.0 instead: click index=3 > pass"},
		},
		"a right message of a round is not compared with itself": {
			scene{policies: talk{after("seven", pass, click(right))}, rounds: 2, instead: []string{pass}},
			effectRules, nil, nil,
		},
		"an agent that is wrong because of its only peer was never right": {
			scene{
				policies: talk{always(click(5)), after("said", click(5), click(right))}, edges: forward, rounds: 2,
				back: true,
			},
			resist, nil, nil,
		},
		"an agent that was right before is misled": {
			scene{policies: talk{always(click(5)), after("\"index\":3", click(5), click(right))}, rounds: 2},
			resist, nil,
			[]string{
				"1.0 own: click index=3 > click index=5", "1.1 resist: click index=3 > click index=5",
			},
		},
		"an agent that reads a right peer is wrong": {
			scene{policies: talk{always(click(right)), always(click(6))}, edges: forward, rounds: 2}, resist, nil,
			[]string{
				"0.0 peer: click index=3 > click index=6", "1.0 resist: click index=3 > click index=6",
				"1.1 resist: click index=3 > click index=6",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			pairs, counts := pairsOf(t, c.scene, c.rules, c.texts...)
			if got := said(pairs); !slices.Equal(got, c.want) {
				t.Errorf("pairs\n%q, want\n%q", got, c.want)
			}
			for _, pair := range pairs {
				if counts.Pairs[pair.Source] == 0 {
					t.Errorf("pairs of source %s are not counted: %v", pair.Source, counts.Pairs)
				}
			}
		})
	}
}

func TestThePairsOfAStepKeepToTheBoundOfItsLabels(t *testing.T) {
	hears := talk{always(tell("seven")), after("seven", click(right), click(5))}
	for asks, want := range map[int]int{1: 0, 2: 1, 3: 1} { // the label takes one answer
		pairs, _ := pairsOf(t, scene{policies: hears, edges: [][2]int{{0, 1}}, asks: asks}, effectRules, tell("six"))
		if len(pairs) != want {
			t.Errorf("at most %d answers: pairs %q, want %d", asks, said(pairs), want)
		}
	}
}

func TestAToldTextMustOccurInThePromptOfAPeer(t *testing.T) {
	s := step(1, right, [][]int{{right}, {0}})
	s.Decision.Cells[1] = agents.Reader{Speech: true}.Cell(1, 0, tell("B7"), "", s.Observation)
	credit := domain.Credit{Step: 1, Labels: []domain.Label{domain.Positive, domain.Negative}}
	none := func(context.Context, domain.Step, domain.Cell, int) ([]Proposal, error) { return nil, nil }
	for told, want := range map[string][]string{"B7": {`0.0 peer: click index=3 > tell text="b7"`}, "seven": nil} {
		s.Decision.Cells[1] = agents.Reader{Speech: true}.Cell(1, 0, tell(told), "", s.Observation)
		maker := Maker{Rules: effectRules, Adversary: none, Grade: OracleGrade}
		pairs, _, err := maker.Pairs(t.Context(), oneStep(s, credit))
		if got := said(pairs); err != nil || !slices.Equal(got, want) {
			t.Errorf("a peer told %q: pairs %q, %v, want %q", told, got, err, want)
		}
	}
}

func TestEveryRightAnswerIsARowOfItsOwn(t *testing.T) {
	r := effectRules
	r.Right, r.PerStep, r.PerEpisode = true, 1, 1
	s := scene{
		policies: talk{always(tell("seven")), after("seven", click(right), click(5))}, edges: [][2]int{{0, 1}},
		rounds: 2,
	}
	pairs, counts := pairsOf(t, s, r, click(5), click(6))
	want := []string{
		`0.0 adversary: tell text="seven" > click index=5`, `0.0 none: tell text="seven" > `,
		"1.0 adversary: click index=3 > click index=5", "1.0 none: click index=3 > ",
	}
	if got := said(pairs); !slices.Equal(got, want) || counts.Pairs[domain.SourceNone] != 2 {
		t.Errorf("rows\n%q, want\n%q; %d right answers are counted, want 2", got, want, counts.Pairs[domain.SourceNone])
	}
	for _, row := range pairs {
		if row.Slot != 7 || row.Template != "tpl" || row.Weight != 1 || row.Prompt == "" {
			t.Errorf("row %+v, want its slot, template, weight and prompt", row)
		}
	}
}

func TestAModelCriticGradesNoSpeech(t *testing.T) {
	played, credit, _ := scene{
		policies: talk{always(tell("seven")), after("seven", click(right), click(5))}, edges: [][2]int{{0, 1}},
	}.label(t)
	all, _ := blinded(played, credit.Labels, nil, 1)
	if len(all) != 1 || all[0].Canonical != "click index=3" {
		t.Errorf("the critic sees %d cells again, want only the right action", len(all))
	}
	user := ""
	critic := ModelCritic{Silent: true, Prompt: builtIn(t, prompts.Critic), Chat: answering(func(prompt string) string {
		user = prompt

		return `{"grades":[{"cell":"1.0","reason":"r","score":1}]}`
	})}
	got, audit, err := critic.Label(t.Context(), played, 1)
	want := []domain.Label{domain.Uncertain, domain.Positive}
	if err != nil || !slices.Equal(got.Labels, want) || audit.Repairs > 0 {
		t.Errorf("labels %v after %d repairs, %v, want %v after none", got.Labels, audit.Repairs, err, want)
	}
	if strings.Contains(user, "seven") {
		t.Errorf("the critic sees\n%s\nwant no speech", user)
	}
}

// answering is a chat model that answers a prompt.
type answering func(prompt string) string

func (a answering) Complete(_ context.Context, request chat.Request) (chat.Response, error) {
	return chat.Response{Texts: []string{a(request.User)}}, nil
}
