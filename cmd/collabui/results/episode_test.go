package results

import (
	"strings"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/records/runs"
)

// TestViewsAndMessagesAreShownInWords shows a step in which two agents saw different elements and only spoke.
func TestViewsAndMessagesAreShownInWords(t *testing.T) {
	screen := domain.Observation{Elements: []domain.Element{
		{Index: 0, Role: "button", Text: "Send", Visible: true}, {Index: 1, Role: "field", Text: "To", Visible: true},
	}}
	reader := agents.Reader{Speech: true}
	say := func(agent int, action string) domain.Cell {
		return reader.Cell(agent, 0, "Reason: r\nAction: "+action, "prompt", screen)
	}
	cells := []domain.Cell{
		say(0, `{"action_type":"tell","text":"write to ann"}`), say(1, `{"action_type":"pass"}`),
		say(2, `{"action_type":"point","index":1}`),
	}
	cells[1].Told = []int{1}
	click := "Action: " + domain.Action{Type: domain.ActionClick}.At(0).JSON()
	e := storedEpisode{played{
		Run: "r", Epoch: 1, Rounds: 1, Topology: domain.Topology{Agents: 3, Edges: [][2]int{{0, 1}}},
		Episode: runs.Episode{Goal: "Write"},
		Steps: []runs.Step{{Step: domain.Step{Number: 1, Observation: screen, Decision: domain.Decision{
			Cells: cells, Executed: *cells[1].Action, Seen: [][]int{{0, 1}, {0}, {0, 1}},
			AllRound: domain.Vote{Rule: "none"}, LastOnly: domain.Vote{Rule: "none"},
		}}}},
		Credits: &runs.Credits{Steps: []domain.Credit{{
			Step: 1, Labels: []domain.Label{1, 0, -1}, Effects: []domain.Effect{
				{Cell: 0, Readers: []domain.Reading{{Cell: 1, Text: click, With: 0, Without: 1}}},
				{Cell: 1, Instead: []domain.Alternative{{Text: click, Label: 1}}},
			},
		}}},
	}}
	var shown strings.Builder
	e.text(&shown)
	text := shown.String()
	for _, want := range []string{
		`+  tells "write to ann"`, "-  passes", `?  points at field "To"`, "executed: nothing: nobody acted",
		"agent 0 saw 2 of 2 elements: button Send | field To\n",
		"agent 1 saw 1 of 2 elements: button Send; named by peers: field To\n",
		`message of agent 0, round 1: tells "write to ann": 1 fewer reader is right with it`,
		`agent 1, round 1: does not act with it (passes), acts right without it (click button "Send")`,
		"message of agent 1, round 1: passes: the other answer that was tried would have helped",
		`instead: click button "Send": it would have helped`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the episode is shown as\n%s\nwant %q in it", text, want)
		}
	}

	e.Steps[0].Decision.Seen = [][]int{{0, 1}, {0, 1}, {0, 1}}
	e.Credits = nil
	shown.Reset()
	e.text(&shown)
	if text := shown.String(); strings.Contains(text, "saw") || strings.Contains(text, "message") {
		t.Errorf("with full views and without effects, the episode is shown as\n%s\nwant neither", text)
	}
}

func TestAnEpisodeIsShownInWords(t *testing.T) {
	screen := domain.Observation{Elements: []domain.Element{
		{Index: 0, Role: "button", Text: "Send\x1b[2J", Visible: true},
		{Index: 1, Role: "field", Text: "To", Visible: true},
	}}
	say := func(agent int, text string) domain.Cell {
		return agents.NewCell(agent, 0, "Reason: r\nAction: "+text, "prompt", screen)
	}
	click, typed := domain.Action{Type: domain.ActionClick}.At(0), domain.Action{Type: "input_text", Text: "ann"}.At(1)
	cells := []domain.Cell{say(0, click.JSON()), say(1, typed.JSON()), say(2, "nothing")}
	e := storedEpisode{played{
		Run: "r", Epoch: 2, Rounds: 1, Topology: domain.Topology{Agents: 3, Edges: [][2]int{{0, 2}}},
		Episode: runs.Episode{Goal: "Write", Outcome: domain.Outcome{Success: true, Steps: 1}},
		Steps: []runs.Step{{Step: domain.Step{
			Number: 1, Goal: "Write", Observation: screen, Right: []domain.Action{typed},
			Decision: domain.Decision{Cells: cells, Executed: click, AllRound: domain.Vote{
				Canonical: cells[0].Canonical, Votes: 1, Rule: "scan",
			}},
		}}},
		Credits: &runs.Credits{Critic: "oracle", Steps: []domain.Credit{{Step: 1, Labels: []domain.Label{0, 1, -1}}}},
		Pairs:   &runs.Pairs{Pairs: []domain.Example{{Step: 1, Agent: 1, Chosen: "typed", Rejected: "clicked"}}},
	}}
	var shown strings.Builder
	e.text(&shown)
	text := shown.String()
	for _, want := range []string{
		"solved in 1 step", "goal: Write", "graph 0→2", "button Send", "-* click button", "?  (no action)",
		`+  input_text field "To" ann`, "executed: click button", "1 of 2 votes (scan); 1 pair",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the episode is shown as\n%s\nwant %q in it", text, want)
		}
	}
	if strings.Contains(text, "\x1b") {
		t.Errorf("the episode is shown as %q, want no escape sequence of a page in it", text)
	}
}
