package tinylm

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/collabui/collabui/domain"
)

// Choice is an answer in the grammar: a kind, an element and a span of words. Positions are positions of tokens, and
// are -1 if the kind does not need them.
type Choice struct {
	Kind       int
	Elem       int // Candidate.Pos of the element
	Start, End int // the first and the last copied word
}

// ErrNotExpressible means that a text is not a sentence of the grammar for its prompt, so its probability is 0.
var ErrNotExpressible = errors.New("answer is not expressible in the small policy's grammar")

// Answer returns the full text of an answer, as the policy writes it.
func (p *Prompt) Answer(choice Choice) string {
	kind := ActionKinds[choice.Kind]
	var builder strings.Builder
	builder.WriteString(kind.head())
	if kind.takesElem {
		fmt.Fprintf(&builder, `,"index":%d`, p.indexAt(choice.Elem))
	}

	if kind.takesText {
		s, _ := json.Marshal(p.surface(choice.Start, choice.End))
		fmt.Fprintf(&builder, `,"%s":%s`, kind.textField(), s)
	}

	builder.WriteString("}")

	return builder.String()
}

func (p *Prompt) indexAt(pos int) int {
	for _, candidate := range p.Index {
		if candidate.Pos == pos {
			return candidate.Index
		}
	}

	return -1
}

// Parse is the inverse of Answer. For a text that Answer cannot return for this prompt, the error wraps
// ErrNotExpressible.
func (p *Prompt) Parse(answer string) (Choice, error) {
	choice := noChoice()

	at := strings.Index(answer, "Action: ")
	if at < 0 {
		return choice, fmt.Errorf("%w: no Action line", ErrNotExpressible)
	}

	var a struct {
		Index   *int   `json:"index"`
		Text    string `json:"text"`
		AppName string `json:"app_name"`
	}

	if err := json.Unmarshal([]byte(answer[at+len("Action: "):]), &a); err != nil {
		return choice, fmt.Errorf("%w: %v", ErrNotExpressible, err)
	}

	for i, kind := range ActionKinds {
		if h := kind.head(); strings.HasPrefix(answer, h) && (answer[len(h)] == ',' || answer[len(h)] == '}') {
			choice.Kind = i
			break
		}
	}

	if choice.Kind < 0 {
		return choice, fmt.Errorf("%w: unknown reason or action", ErrNotExpressible)
	}

	actionKind := ActionKinds[choice.Kind]
	if actionKind.takesElem {
		for _, cand := range p.Index {
			if a.Index != nil && cand.Index == *a.Index {
				choice.Elem = cand.Pos
				break
			}
		}

		if choice.Elem < 0 {
			return choice, fmt.Errorf("%w: no element with that index", ErrNotExpressible)
		}
	}

	if actionKind.takesText {
		choice.Start, choice.End = p.findSpan(a.Text + a.AppName)
	}

	if (actionKind.takesText && choice.Start < 0) || p.Answer(choice) != answer {
		return choice, fmt.Errorf("%w: other wording", ErrNotExpressible)
	}

	return choice, nil
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

// legalKinds returns the kinds whose arguments are in the prompt. Acts of speech are legal if the prompt states so.
// Actions without arguments are always legal, so the result is never empty.
func (p *Prompt) legalKinds() []int {
	var out []int
	for i, kind := range ActionKinds {
		if kind.speech && !p.speech {
			continue
		}
		if (!kind.takesElem || len(p.Index) > 0) && (!kind.takesText || len(p.words) > 0) {
			out = append(out, i)
		}
	}

	return out
}

// matchPiece recognises the head of an answer at the start of text, a part of a message in which the head's line break
// may have become a space. It returns the piece and the head's length in bytes, or 0 and 0.
func matchPiece(text string) (uint8, int) {
	for i, kind := range ActionKinds {
		h := kind.head()
		if len(text) >= len(h) && strings.ReplaceAll(text[:len(h)], "\n", " ") == strings.ReplaceAll(h, "\n", " ") {
			if len(text) == len(h) || text[len(h)] == ',' || text[len(h)] == '}' {
				return uint8(i + 2), len(h)
			}
		}
	}

	return 0, 0
}

// step is a choice within an answer: one of the candidates, chosen from the hidden state of the newest token.
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

// next returns the step that follows the choices made so far. It returns false if the answer is complete.
func (p *Prompt) next(choice Choice) (step, bool) {
	if choice.Kind < 0 {
		return step{headKind, p.legalKinds()}, true
	}

	kind := ActionKinds[choice.Kind]
	if kind.takesElem && choice.Elem < 0 {
		cands := make([]int, len(p.Index))
		for i, candidate := range p.Index {
			cands[i] = candidate.Pos
		}

		return step{headElem, cands}, true
	}

	if kind.takesText && choice.Start < 0 {
		starts, _ := p.spans()
		return step{headStart, starts}, true
	}

	if kind.takesText && choice.End < 0 {
		_, ends := p.spans()
		return step{headEnd, ends[choice.Start]}, true
	}

	return step{}, false
}

// take records a choice and returns the token that the model reads next.
func (p *Prompt) take(choice *Choice, s step, pick int) Token {
	token := p.answerToken()
	token.Piece = 0
	token.Pos = token.Pos + int32(choice.Made()) + 1
	switch s.head {
	case headKind:
		choice.Kind = pick
		token.Piece = uint8(pick + 2)
	case headElem:
		choice.Elem = pick
		token.Word = p.Tokens[p.indexToken(pick)].Word
		token.Col = 2
	case headStart:
		choice.Start = pick
		token.Word = p.Tokens[pick].Word
		token.Col = 3
	case headEnd:
		choice.End = pick
	}

	return token
}

// answerToken returns the token that follows the prompt and requests the first choice.
func (p *Prompt) answerToken() Token {
	return Token{Piece: pieceAnswer, Sec: SecAnswer, LineNo: -1, Pos: int32(len(p.Tokens))}
}

// pick returns the candidate that was chosen at a head, or -1 if none was.
func (c Choice) pick(head int) int {
	return [...]int{c.Kind, c.Elem, c.Start, c.End}[head+1]
}

// Made returns the number of choices made so far. It is the number of tokens of a complete answer.
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

// Render returns an action in the policy's wording, as in demonstrations. For an action outside the grammar, such as
// one of the web family, the error wraps ErrNotExpressible.
func Render(action domain.Action) (string, error) {
	if !action.InFamily(domain.FamilyMobile) {
		return "", fmt.Errorf("%w: %s is an action of the web family", ErrNotExpressible, action.Type)
	}
	name := action.Type
	for _, f := range []string{action.GoalStatus, action.Direction} {
		if f != "" {
			name += "_" + f
		}
	}

	for _, kind := range ActionKinds {
		if kind.Name == name && (action.Index != nil || !kind.takesElem) {
			var builder strings.Builder
			builder.WriteString(kind.head())
			if kind.takesElem {
				fmt.Fprintf(&builder, `,"index":%d`, *action.Index)
			}
			if kind.takesText {
				s, _ := json.Marshal(action.Text + action.AppName)
				fmt.Fprintf(&builder, `,"%s":%s`, kind.textField(), s)
			}

			return builder.String() + "}", nil
		}
	}

	return "", fmt.Errorf("%w: no kind for action %s", ErrNotExpressible, name)
}
