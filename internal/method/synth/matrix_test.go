package synth

import (
	"slices"
	"strings"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/method/prompts"
)

// places returns a scene in which agent 0 sees a fact, agent 1 the field in which it belongs, and agent 2 neither, and
// a system in which 1 reads 0 and 2 reads 1. Agents beyond the first round also read their successors.
func places(t *testing.T) (Target, agents.Config, Scene) {
	t.Helper()
	text := func(index int, role, text string, y int) domain.Element {
		return domain.Element{
			Index: index, Role: role, Text: text, Bounds: domain.Rect{0, y, 100, 20}, Visible: true,
			Editable: role == "field",
		}
	}
	action := domain.Action{Type: domain.ActionInputText, Text: "K7-31"}.At(2)
	scene := Scene{
		View: agents.View{
			Goal: "Type the code of Ada into Locker",
			Observation: domain.Observation{Elements: []domain.Element{
				text(0, "text", "Bob P2-44", 0), text(1, "text", "Ada K7-31", 20),
				text(2, "field", "Locker", 200), text(3, "field", "Gate", 220),
				text(4, "text", "rain", 400), text(5, "text", "snow", 420),
			}},
		},
		Right:   []domain.Action{action},
		Because: [][]int{{1, 2}},
	}
	prompt, err := prompts.BuiltIn(prompts.Agent)
	if err != nil {
		t.Fatal(err)
	}
	template, err := agents.NewTemplate(prompt, domain.FamilyMobile, true)
	if err != nil {
		t.Fatal(err)
	}
	config := agents.Config{
		Policies: make([]string, 3), Topology: domain.Topology{Agents: 3, Edges: [][2]int{{0, 1}, {1, 2}}}, Rounds: 2,
		Template: template, Speech: true, Reads: agents.ReadBack, Views: agents.Views{Kind: agents.RegionViews},
	}
	// The seed deals the regions in their order, so the agents see what the comment above describes.
	for !slices.EqualFunc(config.Views.Deal(scene.Observation, 3, config.ViewSeed), [][]int{{0, 1}, {2, 3}, {4, 5}},
		slices.Equal) {
		config.ViewSeed++
	}

	return Target{Template: template, Agents: 3}, config, scene
}

// acts returns the action types of the examples, by agent and round.
func acts(t *testing.T, examples []domain.Example) map[agents.Source]domain.Action {
	t.Helper()
	out := map[agents.Source]domain.Action{}
	for _, example := range examples {
		action, ok := agents.ParseMessage(example.Chosen)
		if !ok {
			t.Fatalf("%q has no action", example.Chosen)
		}
		out[agents.Source{Agent: example.Agent, Round: example.Round}] = action
	}

	return out
}

func TestAnExpertSpeaksOfWhatOthersNeed(t *testing.T) {
	target, config, scene := places(t)
	examples, err := target.Matrix(config, scene, nil)
	if err != nil {
		t.Fatal(err)
	}
	got := acts(t, examples)
	for at, want := range map[agents.Source]string{
		{Agent: 0}: domain.ActionTell, {Agent: 1}: domain.ActionInputText, {Agent: 2}: domain.ActionPass,
		{Agent: 0, Round: 1}: domain.ActionInputText, {Agent: 1, Round: 1}: domain.ActionInputText,
	} {
		if got[at].Type != want {
			t.Errorf("agent %d, round %d: %s, want %s", at.Agent, at.Round, got[at].JSON(), want)
		}
	}
	if told := got[agents.Source{}].Text; told != "Ada K7-31" {
		t.Errorf("agent 0 tells %q, want the fact of the goal", told)
	}
}

func TestAnExpertAloneNeverActsOnWhatItCannotSee(t *testing.T) {
	target, config, scene := places(t)
	config.Topology.Edges = [][2]int{}
	examples, err := target.Matrix(config, scene, nil)
	if err != nil {
		t.Fatal(err)
	}
	for at, action := range acts(t, examples) {
		if !action.Speech() {
			t.Errorf("agent %d acts without hearing of the other place: %s", at.Agent, action.JSON())
		}
		if at.Agent == 1 && action.Type != domain.ActionPoint {
			t.Errorf("agent 1 does %s, want to point at the field that the goal names", action.JSON())
		}
	}

	scene.Right[0] = domain.Action{Type: domain.ActionStatus, GoalStatus: domain.StatusComplete}
	scene.Because = [][]int{{}}
	examples, err = target.Matrix(config, scene, nil)
	if err != nil {
		t.Fatal(err)
	}
	for at, action := range acts(t, examples) {
		if action.Type != domain.ActionStatus {
			t.Errorf("agent %d does %s, want what is right whatever one sees", at.Agent, action.JSON())
		}
	}
}

func TestAnExpertAnswersWhatAgentsReallySaid(t *testing.T) {
	target, config, scene := places(t)
	const lie = "Reason: r\nAction: {\"action_type\":\"tell\",\"text\":\"Bob P2-44\"}"
	decision := domain.Decision{}
	for agent := range 3 {
		for round := range 2 {
			cell := agents.Reader{Speech: true}.Cell(agent, round, lie, "", scene.Observation)
			decision.Cells = append(decision.Cells, cell)
		}
	}
	examples, err := target.Matrix(config, scene, &decision)
	if err != nil {
		t.Fatal(err)
	}
	if action := acts(t, examples)[agents.Source{Agent: 1}]; action.Type != domain.ActionPoint {
		t.Errorf("agent 1, who hears of Bob only, does %s; want to point at the field", action.JSON())
	}
	if !strings.Contains(examples[1].Prompt, "Bob P2-44") {
		t.Errorf("the prompt is\n%s\nwant what agent 0 said", examples[1].Prompt)
	}
	if share := scene.Mistaken(decision, examples); share != 1 {
		t.Errorf("a share of %v is mistaken, want all cells", share)
	}
}

func TestAnExpertNotesWhatOnlyALaterStepNeeds(t *testing.T) {
	click := func(index int) domain.Action { return domain.Action{Type: domain.ActionClick}.At(index) }
	typed := domain.Action{Type: domain.ActionInputText, Text: "4711"}.At(1)
	elements := []domain.Element{
		{Index: 0, Role: "note", Text: "Anna 4711", Visible: true},
		{Index: 1, Role: "field", Text: "Code", Editable: true, Visible: true},
		{Index: 2, Role: "button", Text: "Safe", Visible: true},
	}
	scene := Scene{
		View:  agents.View{Goal: "Type the code of Anna", Observation: domain.Observation{Elements: elements}},
		Right: []domain.Action{click(2), typed}, Because: [][]int{{0, 2}, {0, 1}},
	}
	for name, c := range map[string]struct {
		action domain.Action
		known  map[int]bool
		want   string
	}{
		"the page is left":         {click(2), nil, "Anna 4711"},
		"the fact is not known":    {click(2), map[int]bool{2: true}, ""},
		"the fact is used at once": {typed, nil, ""},
		"a wrong action":           {click(0), nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := scene.Note(c.action, c.known); got != c.want {
				t.Errorf("Note = %q, want %q", got, c.want)
			}
		})
	}
}

// TestAnAgentThatReadsANoteKnowsTheFactOfAnEarlierScreen demonstrates the last step of the task note-later.
func TestAnAgentThatReadsANoteKnowsTheFactOfAnEarlierScreen(t *testing.T) {
	scene := Scene{
		View: agents.View{
			Goal: "Type the code of Anna",
			Observation: domain.Observation{Elements: []domain.Element{
				{Index: 1, Role: "field", Text: "Code", Editable: true, Visible: true},
			}},
		},
		Right:   []domain.Action{domain.Action{Type: domain.ActionInputText, Text: "4711"}.At(1)},
		Because: [][]int{{-1, 1}},
	}
	config := agents.Config{Policies: []string{""}, Topology: domain.Topology{Agents: 1}, Rounds: 1}
	target := Target{Template: agents.Default, Notes: true}
	for history, want := range map[string]string{
		"1 click button Safe": "point index=1",
		"Notes: Anna 4711":    `input_text index=1 text="4711"`,
		"Notes: Bob 12":       "point index=1",
	} {
		scene.History = []string{history}
		rows, err := target.Matrix(config, scene, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := rows[0].ChosenCanonical; got != want {
			t.Errorf("after %q, the expert answers %q, want %q", history, got, want)
		}
	}
}
