package agents

import (
	"fmt"
	"strings"
	"testing"

	"github.com/collabui/collabui/domain"
)

// TestAMessageOfAnotherTaskIsNotAVote replaces what peers read of one agent. Its own answer, which it reads in the next
// round, and the votes stay.
func TestAMessageOfAnotherTaskIsNotAVote(t *testing.T) {
	const foreign = 9
	honest := decide(t, newRecorder(), threeAgents(), View{}, 9)
	config, model := threeAgents(), newRecorder()
	config.Heard = func(cell domain.Cell) string {
		if cell.Agent == 0 {
			return click(foreign)
		}

		return cell.Text
	}
	got := decide(t, model, config, View{}, 9)
	for i, cell := range got.Cells {
		// The model's answers depend on the seeds of the cells alone.
		if cell.Text != honest.Cells[i].Text || cell.Canonical != honest.Cells[i].Canonical {
			t.Errorf("agent %d answers %q in round %d, want its own answer %q",
				cell.Agent, cell.Text, cell.Round, honest.Cells[i].Text)
		}
		lied := strings.Contains(cell.Prompt, fmt.Sprintf(`"index":%d`, foreign))
		if want := cell.Agent == 1; lied != want {
			t.Errorf("agent %d reads the replaced message in round %d: %v, want %v", cell.Agent, cell.Round, lied, want)
		}
	}
	if got.AllRound != honest.AllRound || got.LastOnly != honest.LastOnly {
		t.Errorf("the votes are %+v and %+v, want %+v and %+v",
			got.AllRound, got.LastOnly, honest.AllRound, honest.LastOnly)
	}
}
