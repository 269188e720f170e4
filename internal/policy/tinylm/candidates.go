package tinylm

import (
	"regexp"
	"slices"
	"strconv"
)

// noteCandidates records the elements and words that an answer may take from the line that begins at token first.
func (p *Prompt) noteCandidates(first int, sec Section) {
	last := len(p.Tokens) - 1
	if sec == SecScreen && last > first {
		token := p.Tokens[first]
		if n, err := strconv.Atoi(p.Text[token.Start:token.End]); err == nil {
			p.Index = append(p.Index, Candidate{Pos: last, Index: n})
			p.addWords(first+2, last)
		}
	}

	if sec == SecPeer {
		p.notePeerElement(first)
		p.notePeerWords(first)
	}
	if sec == SecGoal {
		p.addWords(first+1, last)
	}
}

// peerIndex matches the index of an action in JSON. It does not match inside JSON strings, where quotes are escaped.
var peerIndex = regexp.MustCompile(`"index": ?([0-9]+)[,} ]`)

// notePeerElement records the element whose index the peer's action names in the line that begins at token first,
// unless the screen or another peer has it already. An agent can name an element that it does not see if a peer named
// it.
func (p *Prompt) notePeerElement(first int) {
	from := int(p.Tokens[first].Start)
	end := int(p.Tokens[len(p.Tokens)-1].End)
	all := peerIndex.FindAllStringSubmatchIndex(p.Text[from:end], -1)
	if len(all) == 0 {
		return
	}
	at := all[len(all)-1]
	n, err := strconv.Atoi(p.Text[from+at[2] : from+at[3]])
	known := slices.ContainsFunc(p.Index, func(candidate Candidate) bool { return candidate.Index == n })
	pos := slices.IndexFunc(p.Tokens[first:], func(token Token) bool { return int(token.Start) == from+at[2] })
	if err == nil && !known && pos >= 0 {
		p.Index = append(p.Index, Candidate{Pos: first + pos, Index: n})
	}
}

// notePeerWords records the words that a peer tells or types in the line that begins at token first, if agents may
// speak.
func (p *Prompt) notePeerWords(first int) {
	if !p.speech {
		return
	}
	key := hashWord("text")
	said := false // after the head of the peer's answer
	for i := first; i < len(p.Tokens); i++ {
		token := p.Tokens[i]
		if token.Piece >= pieceAnswer+1 {
			said = ActionKinds[token.Piece-2].takesText
		}
		if said && token.Word == key {
			p.addWords(i+1, len(p.Tokens)-1)
			return
		}
	}
}

// flagTold flags the words of the screen that peers told, as if the goal named them. Words of the screen are read
// before messages, so they could not know otherwise.
func (p *Prompt) flagTold() {
	told := map[uint64]bool{}
	for _, i := range p.words {
		if token := p.Tokens[i]; token.Sec == SecPeer && token.Word != 0 {
			told[token.Word] = true
		}
	}
	for i := range p.Tokens {
		if token := &p.Tokens[i]; token.Sec == SecScreen && told[token.Word] {
			token.Flags |= flagGoal
		}
	}
}

// indexToken returns the position of the token that holds the index of a candidate. It is the first token of the
// candidate's line, except in a peer's message.
func (p *Prompt) indexToken(pos int) int {
	if p.Tokens[pos].Sec == SecPeer {
		return pos
	}
	for pos > 0 && p.Tokens[pos-1].LineNo == p.Tokens[pos].LineNo {
		pos--
	}

	return pos
}

func (p *Prompt) addWords(from, to int) {
	for i := from; i < to; i++ {
		p.words = append(p.words, i)
	}
}

// maxSpan is the maximum length, in words, of a text that an answer may copy.
const maxSpan = 12

// spans returns, for every start, the ends of spans whose text no earlier span has. Every text therefore has exactly
// one derivation, and its log-probability needs no sum over derivations. Starts without an end are omitted.
func (p *Prompt) spans() (starts []int, ends map[int][]int) {
	p.spanOnce.Do(p.findSpans)
	return p.spanStarts, p.spanEnds
}

func (p *Prompt) findSpans() {
	seen := map[string]bool{}
	starts := []int(nil)
	ends := map[int][]int{}
	for k, s := range p.words {
		for n := 0; n < maxSpan && k+n < len(p.words); n++ {
			e := p.words[k+n]
			if e != s+n || p.Tokens[e].LineNo != p.Tokens[s].LineNo {
				break
			}
			surface := p.surface(s, e)
			if seen[surface] {
				continue
			}
			seen[surface] = true
			ends[s] = append(ends[s], e)
		}

		if len(ends[s]) > 0 {
			starts = append(starts, s)
		}
	}

	p.spanStarts = starts
	p.spanEnds = ends
}

// surface returns the text from word s to word e, inclusive.
func (p *Prompt) surface(s, e int) string { return p.Text[p.Tokens[s].Start:p.Tokens[e].End] }
