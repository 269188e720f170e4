package tinylm

import (
	"hash/fnv"
	"math"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// Section is the part of a prompt to which a token belongs. The first words of a line identify it.
type Section uint8

// The sections of a prompt, in order.
const (
	SecOther Section = iota
	SecGoal
	SecHistory
	SecScreen
	SecOwn
	SecPeer
	SecAnswer
	numSections
)

// Prefixes of lines that begin a section. The prompt templates use the same words.
const (
	PrefixGoal    = "Goal:"
	PrefixHistory = "History:"
	PrefixScreen  = "Screen:"
	PrefixLeftOut = "Left out:"
	PrefixView    = "You see"
	PrefixOwn     = "You said:"
	PrefixPeer    = "Agent "
)

// suffixSpeech ends the line of PrefixView if the agent may speak.
const suffixSpeech = "you may speak"

// Sizes of the embedding tables, which are part of the checkpoint format.
const (
	hashBuckets = 1024
	maxLines    = 32
	maxCols     = 16
)

// Flags of a token.
const (
	flagGoal    = 1 // the goal also contains the word or, on the screen, a peer's message that may be copied
	flagHistory = 2 // the history also contains the word
)

// Token is a unit that the model reads: a word, the end of a line, or a whole piece of an answer.
type Token struct {
	Word       uint64 // hash of the lower-cased word; 0 for the end of a line and for pieces
	Piece      uint8  // number of the piece from 1; 0 for words
	Sec        Section
	Line, Col  uint8 // position within the section and the line, clipped
	Flags      uint8
	Branch     uint8 // 0 for the prompt; in training, the number from 1 of the answer
	Start, End int32 // byte offsets in the prompt
	LineNo     int32 // number in the whole prompt, so "same line" is exact
	Pos        int32 // position in reading order; all answers to a prompt begin where it ends
}

// hashWord returns the FNV-1a hash of the lower-cased word, with its lowest bit set, so it is never 0.
func hashWord(word string) uint64 {
	hash64 := fnv.New64a()
	_, _ = hash64.Write([]byte(strings.ToLower(word)))
	return hash64.Sum64() | 1
}

// buckets returns the token's rows in the two word tables. Ends of lines and pieces have row 0, which no word has.
func (t Token) buckets() (int, int) {
	if t.Word == 0 {
		return 0, 0
	}

	return 1 + int(t.Word>>8)%(hashBuckets-1), 1 + int(t.Word>>36)%(hashBuckets-1)
}

// Prompt is a tokenised prompt together with the data that the grammar needs.
type Prompt struct {
	Text   string
	Tokens []Token
	Index  []Candidate // elements on the screen, then elements that only peers named
	words  []int       // positions of words that answers may copy
	speech bool        // whether the agent may speak

	spanOnce   sync.Once
	spanStarts []int
	spanEnds   map[int][]int
}

// Candidate is an element that an action may name.
type Candidate struct {
	Pos   int // position of its token: the end of its line, or the index in a peer's message
	Index int // the element's index in the prompt
}

// MaxTokens bounds a prompt: ParsePrompt ignores lines that begin at or after this token. The agents' template leaves
// out parts of a prompt that Over reports as too long, so only foreign prompts are longer.
const MaxTokens = 696

// Over returns the number of tokens at the end of a prompt that ParsePrompt ignores. It is 0 for a prompt that is read
// in full.
func Over(text string) int {
	toks := parse(text, math.MaxInt).Tokens
	for i := MaxTokens; i < len(toks); i++ {
		if toks[i].LineNo != toks[i-1].LineNo {
			return len(toks) - i
		}
	}

	return 0
}

// ParsePrompt tokenises a text. It never fails: all words are hashed, and text without sections is SecOther.
func ParsePrompt(text string) *Prompt { return parse(text, MaxTokens) }

// parse tokenises the lines that begin before token limit.
func parse(text string, limit int) *Prompt {
	prompt := &Prompt{Text: text}
	sec := SecOther
	secLine := 0
	inGoal := map[uint64]bool{}
	inHistory := map[uint64]bool{}
	for off, lineNo := 0, int32(0); off < len(text) && len(prompt.Tokens) < limit; lineNo++ {
		end := strings.IndexByte(text[off:], '\n')
		if end < 0 {
			end = len(text)
		} else {
			end += off
		}

		if section, ok := sectionOf(text[off:end]); ok {
			if section != sec {
				secLine = 0
			}
			sec = section
		}

		first := len(prompt.Tokens)
		prompt.addLine(text, off, end, sec, secLine, lineNo)
		prompt.nameNumbers(first, text[off:end])
		for i := first; i < len(prompt.Tokens); i++ {
			token := &prompt.Tokens[i]
			if token.Word == 0 {
				continue
			}
			switch sec {
			case SecGoal:
				inGoal[token.Word] = i > first // the section's name does not count
			case SecHistory:
				inHistory[token.Word] = true
			}
			if sec != SecGoal && inGoal[token.Word] {
				token.Flags |= flagGoal
			}
			if sec > SecHistory && inHistory[token.Word] {
				token.Flags |= flagHistory
			}
		}

		if sec == SecOther && strings.HasPrefix(text[off:end], PrefixView) {
			prompt.speech = strings.HasSuffix(text[off:end], suffixSpeech)
		}
		prompt.noteCandidates(first, sec)
		secLine++
		off = end + 1
	}
	prompt.flagTold()

	return prompt
}

// sectionOf returns the section that a line begins. It returns false if the line begins none.
func sectionOf(line string) (Section, bool) {
	switch {
	case strings.HasPrefix(line, PrefixGoal):
		return SecGoal, true
	case strings.HasPrefix(line, PrefixHistory):
		return SecHistory, true
	case strings.HasPrefix(line, PrefixScreen):
		return SecScreen, true
	case strings.HasPrefix(line, PrefixLeftOut), strings.HasPrefix(line, PrefixView):
		return SecOther, true
	case strings.HasPrefix(line, PrefixOwn):
		return SecOwn, true
	case strings.HasPrefix(line, PrefixPeer):
		return SecPeer, true
	}

	return SecOther, false
}

// addLine adds the tokens of the line text[off:end], including its end.
func (p *Prompt) addLine(text string, off, end int, sec Section, secLine int, lineNo int32) {
	col := 0
	add := func(token Token) {
		token.Sec = sec
		token.LineNo = lineNo
		token.Line = uint8(min(secLine, maxLines-1))
		token.Col = uint8(min(col, maxCols-1))
		token.Pos = int32(len(p.Tokens))
		p.Tokens = append(p.Tokens, token)
		col++
	}

	for i := off; i < end; {
		if text[i] == 'R' && (sec == SecOwn || sec == SecPeer) {
			if id, n := matchPiece(text[i:end]); id > 0 {
				add(Token{Piece: id, Start: int32(i), End: int32(i + n)})
				i += n
				continue
			}
		}

		r, n := utf8.DecodeRuneInString(text[i:])
		if !wordRune(r) {
			i += n
			continue
		}

		j := i
		last := i
		for j < end {
			r, n := utf8.DecodeRuneInString(text[j:])
			if !wordRune(r) && !joinRune(r) {
				break
			}
			j += n
			if wordRune(r) {
				last = j
			}
		}

		add(Token{Word: hashWord(text[i:last]), Start: int32(i), End: int32(last)})
		i = max(last, i+n)
	}

	add(Token{Start: int32(end), End: int32(end)})
}

// nameNumbers gives separate words to numbers in the line that begins at token first, unless they are indices of
// elements: the number of a peer, of a step, and of omitted parts. Otherwise, agent 1 would share its word with element
// 1.
func (p *Prompt) nameNumbers(first int, line string) {
	from := first
	to := first + 1
	kind := "step"
	switch {
	case strings.HasPrefix(line, PrefixPeer):
		from = first + 1
		to = first + 2
		kind = "agent"
	case strings.HasPrefix(line, PrefixLeftOut), strings.HasPrefix(line, PrefixView):
		to = len(p.Tokens)
		kind = "left"
	case p.Tokens[first].Sec != SecHistory:
		return
	}

	for i := from; i < min(to, len(p.Tokens)); i++ {
		token := &p.Tokens[i]
		if name := p.Text[token.Start:token.End]; token.Word != 0 && strings.Trim(name, "0123456789") == "" {
			token.Word = hashWord(kind + " " + name)
		}
	}
}

// wordRune reports whether a rune may begin and end a word.
func wordRune(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '$' || r == '%' || r == '+' || r == '#'
}

// joinRune reports whether a rune may occur inside a word but neither begin nor end it, as in e-mail addresses, times
// and file names.
func joinRune(r rune) bool { return strings.ContainsRune("_@/.:'-&", r) }
