package agents

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/chat"
)

// panes returns a screen with a bar and four panes of elements, and the pane of each element by its index.
func panes() (screen domain.Observation, paneOf map[int]int) {
	screen = domain.Observation{Width: 400, Height: 600}
	paneOf = map[int]int{}
	add := func(pane, x, y, w, h int) {
		index := len(screen.Elements)
		screen.Elements = append(screen.Elements, domain.Element{
			Index: index, Role: "text", Text: fmt.Sprintf("t%d", index), Bounds: domain.Rect{x, y, w, h}, Visible: true,
		})
		paneOf[index] = pane
	}
	for pane := range 4 {
		x := 10 + pane%2*200
		y := 50 + pane/2*280
		for row := range 3 + pane {
			add(pane, x, y+row*30, 180, 30)
		}
	}

	return screen, paneOf
}

func TestRegionsFollowThePanesOfAScreen(t *testing.T) {
	screen, paneOf := panes()
	regions := Regions(screen.Elements, 4)
	if len(regions) != 4 {
		t.Fatalf("got %d regions, want 4", len(regions))
	}
	for i, region := range regions {
		for _, element := range region {
			if paneOf[element.Index] != i {
				t.Errorf("element %d of pane %d is in region %d, want its own", element.Index, paneOf[element.Index], i)
			}
		}
	}
}

// TestViewsCoverTheScreen checks that every element is seen, once where regions have no common elements, by all where
// everything is common, and that every screen can be divided.
func TestViewsCoverTheScreen(t *testing.T) {
	screen, _ := panes()
	for n := range 6 {
		for size := range len(screen.Elements) {
			part := domain.Observation{Elements: screen.Elements[:size]}
			for kind, most := range map[ViewKind]int{RegionViews: 1, DropoutViews: n + 1} {
				times := map[int]int{}
				for _, view := range (Views{Kind: kind}).Deal(part, n+1, 7) {
					for _, index := range view {
						times[index]++
					}
				}
				for _, element := range part.Elements {
					if got := times[element.Index]; got < 1 || got > most {
						t.Errorf("%s, %d agents, %d elements: element %d is seen %d times, want 1 to %d",
							kind, n+1, size, element.Index, got, most)
					}
				}
			}
			for _, view := range (Views{Kind: RegionViews, Common: 1}).Deal(part, n+1, 7) {
				if len(view) != size {
					t.Errorf("%d agents: an agent sees %d common elements, want all %d", n+1, len(view), size)
				}
			}
		}
	}
}

// speaker passes, points and tells by agent, and remembers the prompts.
type speaker struct{ answers map[uint64]string }

func (s speaker) Complete(_ context.Context, q chat.Request) (chat.Response, error) {
	text, ok := s.answers[q.Seed]
	if !ok {
		text = `{"action_type":"pass"}`
	}

	return chat.Response{Texts: []string{"Reason: r\nAction: " + text}}, nil
}

func TestSpeechNeverVotes(t *testing.T) {
	screen, _ := panes()
	c := threeAgents()
	c.Speech = true
	answers := map[uint64]string{
		domain.Seed(5, "cell", 0, 0): `{"action_type":"tell","text":"t1"}`,
		domain.Seed(5, "cell", 1, 1): `{"action_type":"click","index":1}`,
	}
	d := decide(t, speaker{answers}, c, View{Goal: "g", Observation: screen}, 5)
	if d.Executed.Type != domain.ActionClick || d.AllRound.Votes != 1 {
		t.Errorf("executed %s with %d votes, want the click with one vote", d.Executed.JSON(), d.AllRound.Votes)
	}

	d = decide(t, speaker{}, c, View{Goal: "g", Observation: screen}, 5)
	if d.Executed.Type != domain.ActionPass || d.AllRound.Canonical != "" {
		t.Errorf("executed %s, voted %q; want a pass that has no vote", d.Executed.JSON(), d.AllRound.Canonical)
	}

	c.Speech = false
	d = decide(t, speaker{}, c, View{Goal: "g", Observation: screen}, 5)
	if cell := d.Cells[0]; cell.Action != nil || !strings.Contains(cell.ParseError, "may not speak") {
		t.Errorf("without speech, %q parses as %v (%s), want an error", cell.Text, cell.Action, cell.ParseError)
	}
}

func TestSourcesReadTheirSuccessorsPreviousRound(t *testing.T) {
	c := threeAgents()
	c.Reads = ReadBack
	c.Views = Views{Kind: RegionViews}
	screen, _ := panes()
	r := newRecorder()
	d := decide(t, r, c, View{Goal: "g", Observation: screen}, 9)

	first := r.seen[domain.Seed(9, "cell", 0, 0)].User
	second := r.seen[domain.Seed(9, "cell", 0, 1)].User
	if strings.Contains(first, "Agent 1 said") {
		t.Errorf("in round 0, agent 0 reads\n%s\nwant no message of its successor", first)
	}
	want := "Agent 1 said, maybe wrong: " + strings.Join(strings.Fields(d.Cell(1, 0, 2).Text), " ")
	if !strings.Contains(second, want) {
		t.Errorf("in round 1, agent 0 reads\n%s\nwant its successor's message of round 0, %q", second, want)
	}
	if !strings.Contains(first, "You see elements ") || strings.Contains(first, "may speak") {
		t.Errorf("agent 0 reads\n%s\nwant what it sees, and nothing of speech", first)
	}
	if len(d.Seen[0])+len(d.Seen[1])+len(d.Seen[2]) != len(screen.Elements) {
		t.Errorf("agents see %v, want every element once", d.Seen)
	}
}
