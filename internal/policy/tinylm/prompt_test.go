package tinylm_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/policy/tinylm"
)

// longView returns a view of up to 120 elements and 12 long lines of history, and messages about it.
func longView(r *rand.Rand) (agents.View, string, []agents.Message) {
	word := func() string { return fmt.Sprintf("w%d", r.IntN(200)) }
	v := agents.View{Goal: "press " + word() + " and " + word()}
	for i := range r.IntN(13) {
		v.History = append(v.History, fmt.Sprint(i+1, " click item ", strings.Repeat(word()+" ", r.IntN(20))))
	}
	n := 1 + r.IntN(120)
	for i := range n {
		v.Observation.Elements = append(v.Observation.Elements, domain.Element{
			Index: i, Role: "item", Text: strings.Repeat(word()+" ", 1+r.IntN(8)), Visible: true,
		})
	}
	say := func() string {
		text, _ := tinylm.Render(domain.Action{Type: domain.ActionClick}.At(r.IntN(n)))
		return text
	}
	var peers []agents.Message
	for a := range r.IntN(4) {
		peers = append(peers, agents.Message{Agent: a, Text: say()})
	}

	return v, say(), peers
}

// TestPromptsOfAgentsAreReadInFull checks that the policy reads the last message of every prompt, and can point at
// exactly the elements that the prompt contains according to its record.
func TestPromptsOfAgentsAreReadInFull(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	bounded := agents.Default.Bounded(tinylm.Over)
	cut, same := 0, 0
	for range 300 {
		v, own, peers := longView(r)
		text, left, err := bounded.Fit(v, own, peers)
		if err != nil {
			t.Fatal(err)
		}
		p := tinylm.ParsePrompt(text)
		if last := p.Tokens[len(p.Tokens)-1]; int(last.End) != len(text)-1 || tinylm.Over(text) != 0 {
			t.Fatalf("%d of %d bytes are read, %d tokens too many; want all and 0",
				last.End, len(text), tinylm.Over(text))
		}

		var got, want []int
		for _, c := range p.Index {
			got = append(got, c.Index)
		}
		for _, e := range v.Shown() {
			if !slices.Contains(left.Elements, e.Index) {
				want = append(want, e.Index)
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("the policy can point at %v, want %v", got, want)
		}

		full, err := agents.Default.User(v, own, peers)
		if err != nil {
			t.Fatal(err)
		}
		if fits := tinylm.Over(full) == 0; fits != (text == full) || fits == left.Any() {
			t.Fatalf("fits %v, equal to the unbounded prompt %v, left out %+v; want the same prompt if it fits",
				fits, text == full, left)
		}
		if left.Any() {
			cut++
		} else {
			same++
		}
	}
	if cut < 50 || same < 50 {
		t.Errorf("%d prompts were cut and %d were not, want at least 50 of each", cut, same)
	}
}

func TestForeignPromptsAreBounded(t *testing.T) {
	text := strings.Repeat("a b c\n", 1000)
	got, over := len(tinylm.ParsePrompt(text).Tokens), tinylm.Over(text)
	if got < tinylm.MaxTokens || got > tinylm.MaxTokens+4 || got+over != 4000 {
		t.Errorf("%d tokens are read and %d are not, want about %d and 4000 in all", got, over, tinylm.MaxTokens)
	}
}

// TestOnlyIndicesAreReadAsIndices writes the number 1 in every place where a prompt can contain it.
func TestOnlyIndicesAreReadAsIndices(t *testing.T) {
	p := tinylm.ParsePrompt(`Goal: press item 1
History:
1 click item 1
2 wait
Screen:
1 item Display
Left out: 1 history line, 1 element
You said: Reason: r Action: {"action_type":"click","index":1}
Agent 1 said, maybe wrong: Reason: r Action: {"action_type":"click","index":1}
`)
	words := map[int32][]uint64{} // words of the text "1", by line
	for _, x := range p.Tokens {
		if p.Text[x.Start:x.End] == "1" {
			words[x.LineNo] = append(words[x.LineNo], x.Word)
		}
	}
	index := words[5][0]
	for name, c := range map[string]struct {
		line  int32
		index []bool // for each 1 of the line
	}{
		"goal":     {line: 0, index: []bool{true}},
		"history":  {line: 2, index: []bool{false, true}},
		"screen":   {line: 5, index: []bool{true}},
		"left out": {line: 6, index: []bool{false, false}},
		"own":      {line: 7, index: []bool{true}},
		"peer":     {line: 8, index: []bool{false, true}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []bool
			for _, w := range words[c.line] {
				got = append(got, w == index)
			}
			if !slices.Equal(got, c.index) {
				t.Errorf("numbers that are read as the element's index: %v, want %v", got, c.index)
			}
		})
	}
	if step, left, agent := words[2][0], words[6][0], words[8][0]; step == left || left == agent || step == agent {
		t.Errorf("step, what is left out and agent have the words %x, %x, %x; want three", step, left, agent)
	}
}

func TestAnElementThatAPeerNamesCanBeNamed(t *testing.T) {
	const screen = "Goal: g\nHistory: none\nScreen:\n1 item a\n4 item b\n"
	peer := func(n, index int) string {
		text, _ := tinylm.Render(domain.Action{Type: domain.ActionClick}.At(index))
		return fmt.Sprintf("Agent %d said, maybe wrong: %s\n", n, strings.ReplaceAll(text, "\n", " "))
	}
	for name, c := range map[string]struct {
		words string
		want  []int
	}{
		"no messages":            {"", []int{1, 4}},
		"elements of the screen": {peer(0, 4) + peer(1, 1), []int{1, 4}},
		"another element":        {peer(0, 9) + peer(1, 4), []int{1, 4, 9}},
		"the same one twice":     {peer(0, 9) + peer(1, 9) + peer(2, 7), []int{1, 4, 9, 7}},
		"an index inside a text": {
			`Agent 0 said, maybe wrong: Action: {"action_type":"answer","text":"\"index\":9,"}` + "\n", []int{1, 4},
		},
		"the agent's own words": {
			"You said: " + strings.TrimPrefix(peer(0, 9), "Agent 0 said, maybe wrong: "), []int{1, 4},
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := tinylm.ParsePrompt(screen + c.words)
			var got []int
			for _, x := range p.Index {
				got = append(got, x.Index)
				text, _ := tinylm.Render(domain.Action{Type: domain.ActionClick}.At(x.Index))
				choice, err := p.Parse(text)
				if err != nil || p.Answer(choice) != text {
					t.Errorf("Parse(%q) = %+v, %v; want a choice whose answer it is", text, choice, err)
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("the policy can name %v, want %v", got, c.want)
			}
		})
	}
}

// TestAToldElementIsSampled lets an untrained policy answer until it names the element that only a peer knows, and
// checks that the answer's score equals its log-probability when it was sampled.
func TestAToldElementIsSampled(t *testing.T) {
	told, _ := tinylm.Render(domain.Action{Type: domain.ActionClick}.At(9))
	p := tinylm.ParsePrompt("Goal: g\nHistory: none\nScreen:\n1 item a\nAgent 0 said, maybe wrong: " +
		strings.ReplaceAll(told, "\n", " ") + "\n")
	m := tinylm.New(tinylm.DefaultConfig, 1)
	outs, _ := tinylm.NewPolicy(m).Sample(p, tinylm.Sampling{N: 400, Temperature: 1, TopP: 1, Seed: 1})
	at := slices.IndexFunc(outs, func(o tinylm.Output) bool { return o.Text == told })
	if at < 0 {
		t.Fatalf("none of %d answers is %q, want some", len(outs), told)
	}
	c, err := p.Parse(told)
	if err != nil {
		t.Fatal(err)
	}
	if got := m.LogProbs([]tinylm.Example{{Prompt: p, Answers: []tinylm.Choice{c}}}, 1)[0][0]; got != outs[at].LogProb {
		t.Errorf("scored %v, want %v as sampled", got, outs[at].LogProb)
	}
	if step := outs[at].Steps[1].Text; step != "9" {
		t.Errorf("the step says %q, want the index 9", step)
	}
}
