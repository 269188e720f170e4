package baselines_test

import (
	"bytes"
	"context"
	"image"
	"image/color"
	"image/png"
	"strings"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/method/baselines"
	"github.com/collabui/collabui/internal/method/chat"
	"github.com/collabui/collabui/internal/method/picture"
	"github.com/collabui/collabui/internal/method/prompts"
)

// scriptedModel is a model that returns its answers in order and records the requests.
type scriptedModel struct {
	answers []string
	asked   []chat.Request
}

func (m *scriptedModel) Complete(_ context.Context, r chat.Request) (chat.Response, error) {
	m.asked = append(m.asked, r)
	answer := m.answers[len(m.asked)-1]
	if answer == "refuse" {
		return chat.Response{}, fault.New(fault.Refused, "too long")
	}

	return chat.Response{Texts: []string{answer}, Usage: domain.Usage{Prompt: 10, Answer: 1}}, nil
}

// users returns the user messages of all requests.
func (m *scriptedModel) users() []string {
	var out []string
	for _, r := range m.asked {
		out = append(out, r.User)
	}

	return out
}

var page = domain.Observation{Width: 100, Height: 200, Elements: []domain.Element{
	{Index: 0, Role: "heading", Text: "Mail", Visible: true, Bounds: domain.Rect{0, 0, 100, 20}},
	{Index: 1, Role: "button", Text: "Send", Visible: true, Bounds: domain.Rect{10, 100, 50, 40}},
	{Index: 2, Role: "item", Text: "far down"},
	{
		Index: 3, Role: "field", Text: "Note\nRequest: buy", Editable: true, Visible: true,
		Bounds: domain.Rect{0, 50, 100, 20},
	},
}}

const sendIt = "Reason: r\nAction: {\"action_type\":\"click\",\"index\":1}"

// newAgent returns an agent of a style that calls a model.
func newAgent(t *testing.T, style string, m chat.Model) *baselines.Agent {
	t.Helper()
	p, err := prompts.BuiltIn(style)
	if err != nil {
		t.Fatal(err)
	}

	return &baselines.Agent{Style: style, Prompt: p, Family: domain.FamilyMobile, Model: m, Policy: "guide", TopP: 1}
}

// decide decides a turn whose history has one line for every previous step.
func decide(t *testing.T, a *baselines.Agent, n int, history ...string) domain.Decision {
	t.Helper()
	d, err := a.Decide(t.Context(), n, agents.View{Goal: "Send the mail", History: history, Observation: page}, 7)
	if err != nil {
		t.Fatal(err)
	}

	return d
}

func TestT3ASummarisesEveryStepBeforeTheNextOne(t *testing.T) {
	t.Parallel()
	m := &scriptedModel{answers: []string{sendIt, "It was sent, go on.", sendIt, "refuse", sendIt}}
	a := newAgent(t, prompts.T3A, m)
	d := decide(t, a, 1)
	if d.Executed.JSON() != `{"action_type":"click","index":1}` || d.AllRound.Votes != 1 || len(d.Cells) != 1 {
		t.Errorf("the first decision is %+v, want the click, with one vote", d)
	}
	d = decide(t, a, 2, "1 click button Send failed: it is covered")
	if got := d.Cells[0].Usage; got != (domain.Usage{Prompt: 20, Answer: 2}) {
		t.Errorf("the second decision used %+v, want both calls", got)
	}
	decide(t, a, 3, "1 x", "2 click button Send")

	asked := m.users()
	if !strings.Contains(asked[1], "It failed: it is covered") ||
		!strings.Contains(asked[1], "Elements before:\n0 heading") {
		t.Errorf("the summary is asked with %q, want what failed, and both screens", asked[1])
	}
	if want := "1 click button Send failed: it is covered. It was sent, go on.\n"; !strings.Contains(asked[2], want) {
		t.Errorf("the second question is %q, want the history %q", asked[2], want)
	}
	if want := "go on.\n2 click button Send\nElements"; !strings.Contains(asked[4], want) {
		t.Errorf("the third question is %q, want the plain line of a step whose summary was refused", asked[4])
	}
	if strings.Contains(asked[0], "far down") || strings.Contains(asked[0], "\nRequest: buy") {
		t.Errorf("the question is %q, want what is visible only, every element in one line", asked[0])
	}
}

func TestRecordedTasksKeepTheirOwnHistory(t *testing.T) {
	t.Parallel()
	m := &scriptedModel{answers: []string{sendIt, sendIt, sendIt + "\nExpectation: it is sent", sendIt}}
	for _, style := range []string{prompts.T3A, prompts.InfiGUI} {
		a := newAgent(t, style, m)
		a.Recorded = true
		decide(t, a, 1)
		decide(t, a, 2, "recorded before")
	}
	if got := m.users(); len(got) != 4 || !strings.Contains(got[1], "recorded before") ||
		strings.Contains(got[3], "expected") {
		t.Errorf("asked %q, want four questions with the recorded history and nothing else", got)
	}
}

func TestSeeActDescribesAndThenChooses(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]string{
		"ELEMENT: C\nACTION: CLICK\nVALUE: None":             `{"action_type":"click","index":1}`,
		"Element: b.\n**Action:** type\nValue: a: b":         `{"action_type":"input_text","index":3,"text":"a: b"}`,
		"ELEMENT: D\nACTION: TERMINATE\nVALUE: None":         `{"action_type":"status","goal_status":"complete"}`,
		"ELEMENT: D\nACTION: SCROLL DOWN\nVALUE: None":       `{"action_type":"scroll","direction":"down"}`,
		"ELEMENT: None\nACTION: ANSWER\nVALUE: three":        `{"action_type":"answer","text":"three"}`,
		"ELEMENT: D\nACTION: CLICK\nVALUE: None":             `"D" is not the letter of an element`,
		"ELEMENT: A\nACTION: DANCE\nVALUE: None":             `unknown action "DANCE"`,
		"ELEMENT: B\nACTION: TYPE\nVALUE: None":              `action "input_text" lacks text`,
		"I cannot say.":                                      "answer has no line 'ACTION: …'",
		"ELEMENT: A\nACTION: CLICK\nELEMENT: C\nVALUE: None": `{"action_type":"click","index":1}`,
	} {
		m := &scriptedModel{answers: []string{"Next action: send\nOptions:", answer}}
		d := decide(t, newAgent(t, prompts.SeeAct, m), 1)
		got := d.Cells[0].ParseError
		if a := d.Cells[0].Action; a != nil {
			got = a.JSON()
		}
		if got != want {
			t.Errorf("%q is %s, want %s", answer, got, want)
		}
		options := "Options:\nA. heading Mail\nB. field Note Request: buy empty\nC. button Send\n" +
			"D. None of the other options\n"
		if said := m.asked[1].User; !strings.HasSuffix(said, options) || !strings.Contains(said, "Next action: send") {
			t.Errorf("the second question is %q, want the analysis, and the elements from top to bottom", said)
		}
		if d.Cells[0].Thought == "" || d.Cells[0].Usage.Prompt != 20 {
			t.Errorf("the cell is %+v, want the analysis, and both calls", d.Cells[0])
		}
	}
}

func TestAnExpectationIsReadAtTheNextStep(t *testing.T) {
	t.Parallel()
	m := &scriptedModel{answers: []string{sendIt + "\nExpectation: the mail is gone", sendIt, sendIt}}
	a := newAgent(t, prompts.InfiGUI, m)
	decide(t, a, 1)
	decide(t, a, 2, "1 click button Send")
	decide(t, a, 3, "1 click button Send", "2 click button Send")
	got := m.users()
	if strings.Contains(got[0], "expected") || !strings.Contains(got[1], "You expected: the mail is gone\n") ||
		strings.Contains(got[2], "expected") {
		t.Errorf("asked %q, want the expectation at the second step only", got)
	}
}

// screenshot returns a white screenshot of twice the page's size, and the marked one.
func screenshot(_ context.Context, screen domain.Observation) ([]chat.Image, error) {
	img := image.NewRGBA(image.Rect(0, 0, 200, 400))
	for i := range img.Pix {
		img.Pix[i] = 0xff
	}
	var out bytes.Buffer
	if err := png.Encode(&out, img); err != nil {
		return nil, err
	}
	marked, err := picture.Mark(out.Bytes(), screen)

	return []chat.Image{chat.NewImage(out.Bytes()), marked}, err
}

func TestM3AMarksTheElementsThatItNames(t *testing.T) {
	t.Parallel()
	m := &scriptedModel{answers: []string{sendIt, "Sent.", sendIt}}
	a := newAgent(t, prompts.M3A, m)
	a.Screen = screenshot
	first := decide(t, a, 1)
	decide(t, a, 2, "1 click button Send")
	if len(m.asked[0].Images) != 2 || len(m.asked[1].Images) != 2 {
		t.Fatalf("%d and %d images are shown, want the screen and its marks, and the marks before and after",
			len(m.asked[0].Images), len(m.asked[1].Images))
	}
	if got, want := first.Cells[0].Image, m.asked[0].Images[1].Digest; got != want {
		t.Errorf("the cell's image is %s, want %s, the marked screen", got, want)
	}
	if m.asked[1].Images[0].Digest != m.asked[0].Images[1].Digest {
		t.Error("the summary is not shown the marked screen before the step, want it first")
	}

	marked, err := png.Decode(bytes.NewReader(m.asked[0].Images[1].PNG))
	if err != nil {
		t.Fatal(err)
	}
	green := color.RGBA{G: 0xa0, A: 0xff}
	for at, want := range map[image.Point]bool{
		image.Pt(20, 240):  true, // the frame of the button, at twice its bounds
		image.Pt(119, 279): true,
		image.Pt(70, 250):  false, // inside it
		image.Pt(150, 390): false, // elements that are not visible have no mark
	} {
		if got := color.RGBAModel.Convert(marked.At(at.X, at.Y)) == green; got != want {
			t.Errorf("the pixel %v is marked: %v, want %v", at, got, want)
		}
	}
}

func TestARefusedQuestionIsARefusedFault(t *testing.T) {
	t.Parallel()
	for _, style := range prompts.Styles {
		a := newAgent(t, style, &scriptedModel{answers: []string{"refuse"}})
		_, err := a.Decide(t.Context(), 1, agents.View{Goal: "g", Observation: page}, 1)
		if fault.KindOf(err) != fault.Refused {
			t.Errorf("%s: Decide = %v, want a refused fault", style, err)
		}
	}
}
