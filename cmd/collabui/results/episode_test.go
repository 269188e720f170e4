package results

import (
	"strings"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/records/runs"
)

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
		"solved in 1 steps", "goal: Write", "graph 0→2", "button Send", "-* click button", "?  (no action)",
		`+  input_text field "To" ann`, "executed: click button", "1 of 2 votes (scan); 1 pairs",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the episode is shown as\n%s\nwant %q in it", text, want)
		}
	}
	if strings.Contains(text, "\x1b") {
		t.Errorf("the episode is shown as %q, want no escape sequence of a page in it", text)
	}
}
