package credit

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/method/chat"
	"github.com/collabui/collabui/internal/method/prompts"
)

// clicker clicks on an index below n that its seed determines, and sometimes goes back.
type clicker int

func (n clicker) Complete(_ context.Context, q chat.Request) (chat.Response, error) {
	text := click(int(q.Seed % uint64(n)))
	if q.Seed%11 == 0 {
		text = "Reason: r\nAction: {\"action_type\":\"navigate_back\"}"
	}

	return chat.Response{Texts: []string{text}}, nil
}

// playedStep plays a step on a random screen with covered, invisible and look-alike elements.
func playedStep(t *testing.T, seed uint64, template *agents.Template) domain.Step {
	t.Helper()
	const elements = 12
	r := rand.New(rand.NewPCG(seed, 1))
	s := domain.Step{Number: 1, Goal: "g"}
	for i := range elements {
		s.Observation.Elements = append(s.Observation.Elements, domain.Element{
			Index:    i,
			Role:     []string{"button", "field"}[r.IntN(2)],
			Text:     fmt.Sprint("b", r.IntN(3)),
			Visible:  r.IntN(5) > 0,
			Occluded: r.IntN(5) == 0,
			Editable: r.IntN(3) == 0,
		})
	}
	s.Right = []domain.Action{domain.Action{Type: domain.ActionClick}.At(r.IntN(elements)), {Type: domain.ActionBack}}

	c := agents.Config{
		Policies:    []string{"a", "b", "c"},
		Topology:    domain.RandomTopology(seed, 1, 3, nil),
		Rounds:      2,
		Temperature: make([]float64, 3),
		Template:    template,
	}
	view := agents.View{Goal: s.Goal, History: []string{"1 click button b1"}, Observation: s.Observation}
	var err error
	if s.Decision, err = agents.Decide(t.Context(), clicker(elements), c, view, seed); err != nil {
		t.Fatal(err)
	}

	return s
}

// withSeenInPrompt replaces the recorded elements by the elements whose lines occur in the agents' prompts.
func withSeenInPrompt(s domain.Step) domain.Step {
	s.Decision.Seen = make([][]int, len(s.Decision.Seen))
	for agent := range s.Decision.Seen {
		for i := range s.Observation.Elements {
			s.Decision.Seen[agent] = append(s.Decision.Seen[agent], i)
		}
	}
	s.Decision.Cells = slices.Clone(s.Decision.Cells)
	for i, cell := range s.Decision.Cells {
		var lacks []int
		for _, e := range s.Observation.Elements {
			if !strings.Contains(cell.Prompt, "\n"+agents.ElementLine(e)+"\n") {
				lacks = append(lacks, e.Index)
			}
		}
		s.Decision.Cells[i].LeftOut.Elements = lacks
	}

	return s
}

// withAllSeen clears the records of what the prompts of a step lack.
func withAllSeen(s domain.Step) domain.Step {
	s.Decision.Seen = nil
	s.Decision.Cells = slices.Clone(s.Decision.Cells)
	for i := range s.Decision.Cells {
		s.Decision.Cells[i].LeftOut.Elements = nil
	}

	return s
}

func TestPairsFollowFromWhatThePromptsShowed(t *testing.T) {
	r := defaults
	r.Correction = true
	bounded := agents.Default.Bounded(func(user string) int { return max(0, len(strings.Fields(user))-60) })
	made, different := 0, 0
	for seed := range uint64(500) {
		s := playedStep(t, seed, bounded)
		got, n := pairs(t, r, []domain.Step{s})
		want, m := pairs(t, r, []domain.Step{withSeenInPrompt(s)})
		if !reflect.DeepEqual(got, want) || !reflect.DeepEqual(n, m) {
			t.Fatalf("seed %d: pairs %+v, counts %+v; want %+v, %+v", seed, got, n, want, m)
		}
		made += len(got)

		if all, _ := pairs(t, r, []domain.Step{withAllSeen(s)}); !reflect.DeepEqual(all, got) {
			different++
		}
	}
	if made < 200 || different == 0 {
		t.Errorf("%d pairs, %d steps differ from those whose prompts lack nothing; want 200 and some", made, different)
	}
}

func TestACustomTemplateDoesNotChangeWhichPairsAreMade(t *testing.T) {
	p, err := prompts.Parse(`{{/* version 1 */ -}}
{{define "system"}}s{{end}}
{{define "user"}}{{range .Screen}}<li>{{.}}</li>{{end}}{{end}}`)
	if err != nil {
		t.Fatal(err)
	}
	custom, err := agents.NewTemplate(p, domain.FamilyMobile, false)
	if err != nil {
		t.Fatal(err)
	}

	r, peers := defaults, 0
	r.Correction = true
	for seed := range uint64(200) {
		want, _ := pairs(t, r, []domain.Step{playedStep(t, seed, nil)})
		got, n := pairs(t, r, []domain.Step{playedStep(t, seed, custom)})
		for i := range got {
			got[i].Prompt = ""
		}
		for i := range want {
			want[i].Prompt = ""
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("seed %d: pairs %+v, want %+v", seed, got, want)
		}
		peers += n.Pairs[domain.SourcePeer] + n.Pairs[domain.SourceCorrection]
	}
	if peers == 0 {
		t.Errorf("%d pairs use a peer's action, want some", peers)
	}
}

// TestAnElementThatIsNamedByItsIDIsLegalWhereItIsSeen checks web actions, which name elements by their IDs.
func TestAnElementThatIsNamedByItsIDIsLegalWhereItIsSeen(t *testing.T) {
	s := domain.Step{Observation: domain.Observation{Elements: []domain.Element{
		{Index: 0, ID: "A", Visible: true}, {Index: 1, ID: "B", Visible: true}, {Index: 2, ID: "C", Visible: true},
	}}}
	s.Decision.Seen = [][]int{{0, 1}}
	x := domain.Cell{LeftOut: domain.LeftOut{Elements: []int{1}}}
	for id, want := range map[string]bool{"A": true, "B": false, "C": false, "Z": false, "-": false, "": true} {
		a := domain.Action{Family: domain.FamilyWeb, Type: domain.ActionClick, Element: id}
		if got := legal(a, s, x); got != want {
			t.Errorf("legal(click %q) = %v, want %v", id, got, want)
		}
	}

	x.Told = []int{1}
	if !legal(domain.Action{Family: domain.FamilyWeb, Type: domain.ActionClick, Element: "B"}, s, x) {
		t.Error("an element that a peer named is not legal, want it to be")
	}
}
