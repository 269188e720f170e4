package llm

import (
	"encoding/base64"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Which parts of a secret are searched for depends on its length, because a short secret occurs in common words.
const (
	shortestKey    = 3
	shortestHeader = 8  // many headers are not secrets
	anyForm        = 8  // from this length on, a secret is found in any case and in base64
	anyPart        = 16 // from this length on, every part of partLength characters is found
	partLength     = 8
)

const removed = "[removed]"

// hide removes the secrets of requests from a text, in any form in which servers repeat them: with characters that are
// encoded for addresses, JSON or HTML, in base64, and in other cases. Parts of long secrets are also removed. Any part
// of a key is removed, even a common word. Parts of a header's value that are common words stay unless they are long,
// because many values are not secrets, such as the address of a team, a version or a name.
func (c *Client) hide(text string) string {
	if c.conf.Key != nil {
		if key := c.conf.Key(); len(key) >= shortestKey {
			text = without(text, key, false)
		}
	}
	for _, value := range c.conf.Headers {
		if len(value) >= shortestHeader {
			text = without(text, value, true)
		}
	}

	return text
}

// withoutKey removes the key from an answer, which is recorded and shown. It searches only for the whole key, because a
// part may be a word of the answer.
func (c *Client) withoutKey(answer string) string {
	if c.conf.Key == nil {
		return answer
	}
	key := c.conf.Key()
	if len(key) < anyPart {
		return answer
	}

	return strings.ReplaceAll(answer, key, removed)
}

// without returns a text without a secret, both in encoded and in plain form. If wordy is set, common words stay.
func without(text, secret string, wordy bool) string {
	text = decodeText(text, true).without(secret, wordy)

	return decodeText(text, false).without(secret, wordy)
}

// hits are the places of a text where a secret occurs.
type hits struct {
	marked  []bool // by position in the text
	letters []byte // the secret's byte at each marked position
}

func newHits(text []byte) hits {
	return hits{marked: make([]bool, len(text)), letters: make([]byte, len(text))}
}

// mark records that letters of the secret, which may differ in case from the text's, occur at a position.
func (h hits) mark(at int, letters string) {
	copy(h.letters[at:], letters)
	for i := range len(letters) {
		h.marked[at+i] = true
	}
}

// without returns the text without a secret.
func (p plain) without(secret string, wordy bool) string {
	fold := len(secret) >= anyForm
	found := newHits(p.bytes)
	markParts(found, p.bytes, secret, fold)
	for at := 0; wordy && at < len(found.marked); {
		end := at
		for end < len(found.marked) && found.marked[end] {
			end++
		}
		if end > at && end-at < min(anyPart, len(secret)) && usualWord.Match(found.letters[at:end]) {
			clear(found.marked[at:end])
		}
		at = end + 1
	}
	if fold {
		coded := newHits(p.bytes)
		for _, form := range inBase64(secret) {
			markParts(coded, p.bytes, form, fold)
		}
		for _, place := range base64Text.FindAllIndex(p.bytes, -1) {
			// If one byte of the match belongs to a secret, so does the rest.
			if slices.Contains(coded.marked[place[0]:place[1]], true) {
				found.mark(place[0], string(p.bytes[place[0]:place[1]]))
			}
		}
	}

	return p.cut(found.marked)
}

// base64Text matches text that may be base64.
var base64Text = regexp.MustCompile(`[0-9A-Za-z+/_-]{8,}=*`)

// usualWord matches words that are in lower case or begin with a capital.
var usualWord = regexp.MustCompile(`^[A-Z]?[a-z]*(?:[^0-9A-Za-z]+[A-Z]?[a-z]*)*$`)

// markParts records where parts of a secret occur in a text.
func markParts(found hits, text []byte, secret string, fold bool) {
	compared := secret
	if fold {
		text = []byte(lower(string(text)))
		compared = lower(secret)
	}
	part := len(secret)
	if len(secret) >= anyPart {
		part = partLength
	}
	parts := map[string]int{}
	for at := 0; at+part <= len(compared); at++ {
		parts[compared[at:at+part]] = at
	}
	for at := 0; at+part <= len(text); at++ {
		if place, ok := parts[string(text[at:at+part])]; ok {
			found.mark(at, secret[place:place+part])
		}
	}
}

// lower returns a text with ASCII letters in lower case. All bytes keep their positions.
func lower(text string) string {
	out := []byte(text)
	for i, c := range out {
		if 'A' <= c && c <= 'Z' {
			out[i] = c + 'a' - 'A'
		}
	}

	return string(out)
}

// inBase64 returns texts that occur in the base64 encoding of any text that contains the secret, one for each alignment
// and alphabet.
func inBase64(secret string) []string {
	var out []string
	for before := range 3 {
		within := base64.RawStdEncoding.EncodeToString(append(make([]byte, before), secret...))
		within = within[(before*8+5)/6 : (before+len(secret))*8/6]
		if len(within) < partLength {
			continue
		}
		out = append(out, within)
		if url := strings.NewReplacer("+", "-", "/", "_").Replace(within); url != within {
			out = append(out, url)
		}
	}

	return out
}

// plain is a text whose encoded characters may be decoded.
type plain struct {
	text  string
	bytes []byte
	from  []int // offset of each byte in the text, and the text's length
}

// encoded matches an ASCII character encoded for addresses, JSON or HTML. The encoding may be repeated.
var encoded = regexp.MustCompile(
	`^(?:%(?:25)*([0-9a-fA-F]{2})|\\+(?:u00|x)([0-9a-fA-F]{2})|&#[xX]0*([0-9a-fA-F]{1,2});|&#0*([0-9]{1,3});)`)

// decodeText returns a text with its encoded characters decoded, or unchanged.
func decodeText(text string, decode bool) plain {
	out := plain{text: text, bytes: make([]byte, 0, len(text)), from: make([]int, 0, len(text)+1)}
	for at := 0; at < len(text); {
		size := 1
		value := uint64(text[at])
		if decode && strings.IndexByte(`%\&`, text[at]) >= 0 {
			if places := encoded.FindStringSubmatchIndex(text[at:min(len(text), at+longestCode)]); places != nil {
				size = places[1]
				value = codeIn(text[at:], places)
			}
		}
		out.bytes = append(out.bytes, byte(value))
		out.from = append(out.from, at)
		at += size
	}
	out.from = append(out.from, len(text))

	return out
}

// longestCode bounds the length of an encoded character.
const longestCode = 32

// codeIn returns the character at the places that encoded matched.
func codeIn(text string, places []int) uint64 {
	for group := 1; group*2 < len(places); group++ {
		if from := places[2*group]; from >= 0 {
			base := 16
			if group == len(places)/2-1 {
				base = 10
			}
			value, _ := strconv.ParseUint(text[from:places[2*group+1]], base, 8) // larger numbers become 255

			return value
		}
	}

	return 0
}

// cut returns the text without the marked bytes.
func (p plain) cut(marked []bool) string {
	var out strings.Builder
	for at := range marked {
		switch {
		case !marked[at]:
			out.WriteString(p.text[p.from[at]:p.from[at+1]])
		case at == 0 || !marked[at-1]:
			out.WriteString(removed)
		}
	}

	return strings.ToValidUTF8(out.String(), "")
}
