package agents

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/chat"
)

// shown returns a view of two buttons and their picture.
func shown(picture string) View {
	return View{
		Goal: "g", Picture: chat.Image{Digest: picture},
		Observation: domain.Observation{Elements: []domain.Element{
			{Index: 0, Role: "button", Text: "Send", Visible: true},
			{Index: 1, Role: "button", Text: "Quit", Visible: true},
		}},
	}
}

func TestAPromptDescribesItsPicture(t *testing.T) {
	const list = "Screen:\n0 button Send\n1 button Quit\n"
	for name, c := range map[string]struct {
		shown   Presentation
		picture string
		want    string // after the goal and the history
	}{
		"text":           {Presentation{Kind: AsText}, "", list},
		"both":           {Presentation{Kind: AsBoth}, "d", list + showsScreen + "\n"},
		"nothing to see": {Presentation{Kind: AsBoth}, "", list},
		"a marked picture alone": {
			Presentation{Kind: AsImage, Marks: true}, "d",
			"Screen:\n" + showsScreen + "; a mark is the name of the element that it is on\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Default.Presenting(c.shown).User(shown(c.picture), "", nil)
			if want := "Goal: g\nHistory: none\n" + c.want; err != nil || got != want {
				t.Errorf("got %v\n%s\nwant\n%s", err, got, want)
			}
		})
	}
}

func TestEveryCellHasThePictureOfItsAgent(t *testing.T) {
	c, r := threeAgents(), newRecorder()
	view := shown("whole")
	view.Parts = []chat.Image{{Digest: "first"}, {Digest: "second"}, {}}
	d := decide(t, r, c, view, 9)
	if d.Image != "whole" {
		t.Errorf("the decision's picture is %q, want that of the whole screen", d.Image)
	}
	for _, cell := range d.Cells {
		want := view.Parts[cell.Agent]
		if cell.Image != want.Digest {
			t.Errorf("cell %d.%d has picture %q, want %q", cell.Agent, cell.Round, cell.Image, want.Digest)
		}
		sent := r.seen[domain.Seed(9, "cell", cell.Agent, cell.Round)]
		if !reflect.DeepEqual(sent.Images, want.Images()) {
			t.Errorf("the request of cell %d.%d shows %v, want %v", cell.Agent, cell.Round, sent.Images, want.Images())
		}
		if described := strings.Contains(sent.User, showsScreen); described != (want.Digest != "") {
			t.Errorf("cell %d.%d: the prompt describes a picture: %v\n%s", cell.Agent, cell.Round, described, sent.User)
		}

		again, err := c.Again(shown(""), d, 9, cell.Agent, cell.Round, nil)
		if err != nil || again.User != sent.User || !slices.EqualFunc(again.Images, sent.Images, sameImage) {
			t.Errorf("cell %d.%d: the request made again is %+v, %v; want %+v",
				cell.Agent, cell.Round, again, err, sent)
		}
	}
}

func sameImage(a, b chat.Image) bool { return a.Digest == b.Digest }

func TestAPictureTakesTokens(t *testing.T) {
	for want, presentation := range map[int]Presentation{
		0: {Kind: AsText, Pixels: 262144}, 262144/784 + 8: {Kind: AsImage, Pixels: 262144},
	} {
		if got := presentation.Tokens(); got != want {
			t.Errorf("Tokens of %+v = %d, want %d", presentation, got, want)
		}
	}
}
