package tinylm

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/collabui/collabui/domain"
)

// Kind is one action that an answer can take; it fixes the text of the answer up to its arguments.
type Kind struct {
	Name      string // for logs and figures
	reason    string
	fields    string // JSON fields that the kind fixes
	takesElem bool
	takesText bool
}

// Kinds is the grammar: METHOD.md's mobile actions. The order is part of a checkpoint's format: append only.
var Kinds = []Kind{
	{"click", "this element serves the goal.", `"action_type":"click"`, true, false},
	{"input_text", "this field takes the text that the goal gives.", `"action_type":"input_text"`, true, true},
	{"status_complete", "the goal is reached.", `"action_type":"status","goal_status":"complete"`, false, false},
	{"scroll_down", "what the goal needs is further down.", `"action_type":"scroll","direction":"down"`, false, false},
	{"scroll_up", "what the goal needs is further up.", `"action_type":"scroll","direction":"up"`, false, false},
	{"navigate_back", "this screen does not serve the goal.", `"action_type":"navigate_back"`, false, false},
	{"long_press", "holding this element serves the goal.", `"action_type":"long_press"`, true, false},
	{"double_tap", "a double tap on this element serves the goal.", `"action_type":"double_tap"`, true, false},
	{"keyboard_enter", "the typed text is ready to be sent.", `"action_type":"keyboard_enter"`, false, false},
	{"answer", "the screen shows what the goal asks.", `"action_type":"answer"`, false, true},
	{"open_app", "the goal needs another app.", `"action_type":"open_app"`, false, true},
	{"navigate_home", "the goal starts from the home screen.", `"action_type":"navigate_home"`, false, false},
	{"wait", "the screen is not ready.", `"action_type":"wait"`, false, false},
	{"status_infeasible", "the goal cannot be reached.", `"action_type":"status","goal_status":"infeasible"`, false, false},
	{"scroll_left", "what the goal needs is further left.", `"action_type":"scroll","direction":"left"`, false, false},
	{"scroll_right", "what the goal needs is further right.", `"action_type":"scroll","direction":"right"`, false, false},
	{"swipe_down", "a swipe down serves the goal.", `"action_type":"swipe","direction":"down"`, false, false},
	{"swipe_up", "a swipe up serves the goal.", `"action_type":"swipe","direction":"up"`, false, false},
	{"swipe_left", "a swipe left serves the goal.", `"action_type":"swipe","direction":"left"`, false, false},
	{"swipe_right", "a swipe right serves the goal.", `"action_type":"swipe","direction":"right"`, false, false},
}

const (
	kindSlots   = 32 // width of the kind head, so that kinds can be appended
	pieceAnswer = 1  // the token that asks for the first choice; kind k is piece k+2
	numPieces   = kindSlots + 2
)

func (k Kind) textField() string {
	if k.Name == "open_app" {
		return "app_name"
	}
	return "text"
}

func (k Kind) head() string { return "Reason: " + k.reason + "\nAction: {" + k.fields }

// Choice is an answer as the grammar sees it: one kind, one element position, one span of words. Positions are -1 where the kind takes none.
type Choice struct {
	Kind       int
	Elem       int // position of the element line's end
	Start, End int // positions of the first and the last copied word
}

// ErrNotExpressible says that a text is not a sentence of the grammar for its prompt; its probability is zero.
var ErrNotExpressible = errors.New("answer is not expressible in the small policy's grammar")

// Text is the answer in full, as the policy writes it.
func (p *Prompt) Answer(c Choice) string {
	k := Kinds[c.Kind]
	var b strings.Builder
	b.WriteString(k.head())
	if k.takesElem {
		fmt.Fprintf(&b, `,"index":%d`, p.indexAt(c.Elem))
	}
	if k.takesText {
		s, _ := json.Marshal(p.surface(c.Start, c.End))
		fmt.Fprintf(&b, `,"%s":%s`, k.textField(), s)
	}
	b.WriteString("}")
	return b.String()
}

func (p *Prompt) indexAt(pos int) int {
	for _, c := range p.Index {
		if c.Pos == pos {
			return c.Index
		}
	}
	return -1
}

// Parse is the inverse of Answer. It fails with ErrNotExpressible for every text that Answer cannot give for this prompt.
func (p *Prompt) Parse(answer string) (Choice, error) {
	c := noChoice()
	at := strings.Index(answer, "Action: ")
	if at < 0 {
		return c, fmt.Errorf("%w: no Action line", ErrNotExpressible)
	}
	var a struct {
		Index   *int   `json:"index"`
		Text    string `json:"text"`
		AppName string `json:"app_name"`
	}
	if err := json.Unmarshal([]byte(answer[at+len("Action: "):]), &a); err != nil {
		return c, fmt.Errorf("%w: %v", ErrNotExpressible, err)
	}
	for i, k := range Kinds {
		if h := k.head(); strings.HasPrefix(answer, h) && (answer[len(h)] == ',' || answer[len(h)] == '}') {
			c.Kind = i
			break
		}
	}
	if c.Kind < 0 {
		return c, fmt.Errorf("%w: unknown reason or action", ErrNotExpressible)
	}
	k := Kinds[c.Kind]
	if k.takesElem {
		for _, cand := range p.Index {
			if a.Index != nil && cand.Index == *a.Index {
				c.Elem = cand.Pos
				break
			}
		}
		if c.Elem < 0 {
			return c, fmt.Errorf("%w: no element with that index", ErrNotExpressible)
		}
	}
	if k.takesText {
		c.Start, c.End = p.findSpan(a.Text + a.AppName)
	}
	if (k.takesText && c.Start < 0) || p.Answer(c) != answer {
		return c, fmt.Errorf("%w: other wording", ErrNotExpressible)
	}
	return c, nil
}

func (p *Prompt) findSpan(text string) (int, int) {
	starts, ends := p.spans()
	for _, s := range starts {
		for _, e := range ends[s] {
			if p.surface(s, e) == text {
				return s, e
			}
		}
	}
	return -1, -1
}

// legalKinds masks the kinds whose arguments this prompt cannot give. Kinds without arguments are always legal, so the set is never empty.
func (p *Prompt) legalKinds() []int {
	var out []int
	for i, k := range Kinds {
		if (!k.takesElem || len(p.Index) > 0) && (!k.takesText || len(p.words) > 0) {
			out = append(out, i)
		}
	}
	return out
}

// matchPiece recognises the head of an answer inside a message, where its line break may have become a space.
func matchPiece(s string) (uint8, int) {
	for i, k := range Kinds {
		h := k.head()
		if len(s) >= len(h) && strings.ReplaceAll(s[:len(h)], "\n", " ") == strings.ReplaceAll(h, "\n", " ") {
			if len(s) == len(h) || s[len(h)] == ',' || s[len(h)] == '}' {
				return uint8(i + 2), len(h)
			}
		}
	}
	return 0, 0
}

// step is one choice while an answer is written: from the hidden state of the newest token, one of the candidates.
type step struct {
	head  int   // headKind, or a pointer head
	cands []int // kinds or token positions
}

const (
	headKind = iota - 1
	headElem
	headStart
	headEnd
	numPointers = 3
)

// next gives the step that follows the choices made so far, or ok = false when the answer is complete.
func (p *Prompt) next(c Choice) (step, bool) {
	if c.Kind < 0 {
		return step{headKind, p.legalKinds()}, true
	}
	k := Kinds[c.Kind]
	if k.takesElem && c.Elem < 0 {
		cands := make([]int, len(p.Index))
		for i, x := range p.Index {
			cands[i] = x.Pos
		}
		return step{headElem, cands}, true
	}
	if k.takesText && c.Start < 0 {
		starts, _ := p.spans()
		return step{headStart, starts}, true
	}
	if k.takesText && c.End < 0 {
		_, ends := p.spans()
		return step{headEnd, ends[c.Start]}, true
	}
	return step{}, false
}

// take records a choice and gives the token that the model reads next.
func (p *Prompt) take(c *Choice, s step, pick int) Token {
	t := p.answerToken()
	t.Piece, t.Pos = 0, t.Pos+int32(c.made())+1
	switch s.head {
	case headKind:
		c.Kind = pick
		t.Piece = uint8(pick + 2)
	case headElem:
		c.Elem = pick
		first := pick
		for first > 0 && p.Tokens[first-1].LineNo == p.Tokens[pick].LineNo {
			first--
		}
		t.Word, t.Col = p.Tokens[first].Word, 2
	case headStart:
		c.Start = pick
		t.Word, t.Col = p.Tokens[pick].Word, 3
	case headEnd:
		c.End = pick
	}
	return t
}

// answerToken asks for the first choice; it stands right behind the prompt.
func (p *Prompt) answerToken() Token {
	return Token{Piece: pieceAnswer, Sec: SecAnswer, LineNo: -1, Pos: int32(len(p.Tokens))}
}

// pick is the candidate that a choice took at a head.
func (c Choice) pick(head int) int {
	return [...]int{c.Kind, c.Elem, c.Start, c.End}[head+1]
}

// made counts the choices made so far.
func (c Choice) made() (n int) {
	for head := headKind; head < numPointers; head++ {
		if c.pick(head) >= 0 {
			n++
		}
	}
	return n
}

func noChoice() Choice { return Choice{Kind: -1, Elem: -1, Start: -1, End: -1} }

// Fits tells whether the grammar can give an answer to a prompt.
func Fits(prompt, answer string) bool {
	_, err := ParsePrompt(prompt).Parse(answer)
	return err == nil
}

// Render writes an action in the policy's own wording: the form of demonstrations. It fails with ErrNotExpressible
// for an action outside the grammar.
func Render(a domain.Action) (string, error) {
	name := a.Type
	for _, f := range []string{a.GoalStatus, a.Direction} {
		if f != "" {
			name += "_" + f
		}
	}
	for _, k := range Kinds {
		if k.Name == name {
			var b strings.Builder
			b.WriteString(k.head())
			if k.takesElem {
				fmt.Fprintf(&b, `,"index":%d`, *a.Index)
			}
			if k.takesText {
				s, _ := json.Marshal(a.Text + a.AppName)
				fmt.Fprintf(&b, `,"%s":%s`, k.textField(), s)
			}
			return b.String() + "}", nil
		}
	}
	return "", fmt.Errorf("%w: no kind for action %s", ErrNotExpressible, name)
}
