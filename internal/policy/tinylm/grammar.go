package tinylm

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/collabui/collabui/domain"
)

// Choice is an answer as the grammar sees it: a kind, an element and a span of words. Positions are those of tokens;
// they are -1 if the kind takes none.
type Choice struct {
	Kind       int
	Elem       int // Candidate.Pos of the element
	Start, End int // the first and the last copied word
}

// ErrNotExpressible means that a text is not a sentence of the grammar for its prompt. Its probability is zero.
var ErrNotExpressible = errors.New("answer is not expressible in the small policy's grammar")

// Answer returns the answer in full, as the policy writes it.
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

// Parse is the inverse of Answer. Every text that Answer cannot return for this prompt is an ErrNotExpressible.
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

// legalKinds returns the kinds whose arguments are in the prompt. Kinds without arguments always are legal, so the
// list is never empty.
func (p *Prompt) legalKinds() []int {
	var out []int
	for i, k := range Kinds {
		if (!k.takesElem || len(p.Index) > 0) && (!k.takesText || len(p.words) > 0) {
			out = append(out, i)
		}
	}

	return out
}

// matchPiece recognises the head of an answer at the start of s, a part of a message, where the line break of the head
// may have become a space. It returns the piece and the head's length, or 0 and 0.
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

// step is a choice on the way to an answer: one of the candidates, from the hidden state of the newest token.
type step struct {
	head  int   // headKind, or a pointer head
	cands []int // kinds or token positions
}

// The heads of the model: one that chooses a kind, and pointers to tokens.
const (
	headKind = iota - 1
	headElem
	headStart
	headEnd
	numPointers = 3
)

// next returns the step that follows the choices made so far, or false if the answer is complete.
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

// take records a choice and returns the token that the model reads next.
func (p *Prompt) take(c *Choice, s step, pick int) Token {
	t := p.answerToken()
	t.Piece, t.Pos = 0, t.Pos+int32(c.Made())+1
	switch s.head {
	case headKind:
		c.Kind = pick
		t.Piece = uint8(pick + 2)
	case headElem:
		c.Elem = pick
		t.Word = p.Tokens[p.indexToken(pick)].Word
		t.Col = 2
	case headStart:
		c.Start = pick
		t.Word = p.Tokens[pick].Word
		t.Col = 3
	case headEnd:
		c.End = pick
	}

	return t
}

// answerToken returns the token that asks for the first choice. It follows the prompt.
func (p *Prompt) answerToken() Token {
	return Token{Piece: pieceAnswer, Sec: SecAnswer, LineNo: -1, Pos: int32(len(p.Tokens))}
}

// pick returns the candidate that was chosen at a head, -1 if none was.
func (c Choice) pick(head int) int {
	return [...]int{c.Kind, c.Elem, c.Start, c.End}[head+1]
}

// Made counts the choices made so far. A complete answer has that many tokens.
func (c Choice) Made() (n int) {
	for head := headKind; head < numPointers; head++ {
		if c.pick(head) >= 0 {
			n++
		}
	}

	return n
}

func noChoice() Choice { return Choice{Kind: -1, Elem: -1, Start: -1, End: -1} }

// Fits reports whether the grammar can express an answer to a prompt.
func Fits(prompt, answer string) bool {
	_, err := ParsePrompt(prompt).Parse(answer)
	return err == nil
}

// Render returns an action in the policy's wording, which is the form of demonstrations. An action outside the grammar,
// such as one of the web family, is an ErrNotExpressible.
func Render(a domain.Action) (string, error) {
	if !a.InFamily(domain.FamilyMobile) {
		return "", fmt.Errorf("%w: %s is an action of the web family", ErrNotExpressible, a.Type)
	}
	name := a.Type
	for _, f := range []string{a.GoalStatus, a.Direction} {
		if f != "" {
			name += "_" + f
		}
	}

	for _, k := range Kinds {
		if k.Name == name && (a.Index != nil || !k.takesElem) {
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
