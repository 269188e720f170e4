package agents

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/chat"
)

// recorder answers with the number of the call and records the requests by their seed.
type recorder struct {
	mu   sync.Mutex
	seen map[uint64]chat.Request
	err  error
}

func (r *recorder) Complete(_ context.Context, q chat.Request) (chat.Response, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err != nil {
		return chat.Response{}, r.err
	}
	r.seen[q.Seed] = q

	return chat.Response{Texts: []string{click(int(q.Seed % 7))}}, nil
}

func newRecorder() *recorder { return &recorder{seen: map[uint64]chat.Request{}} }

func decide(t *testing.T, model chat.Model, c Config, v View, seed uint64) domain.Decision {
	t.Helper()
	d, err := Decide(t.Context(), model, c, v, seed)
	if err != nil {
		t.Fatal(err)
	}

	return d
}

// threeAgents returns a system of three agents in which agent 1 reads agents 0 and 2.
func threeAgents() Config {
	return Config{
		Policies:    []string{"p0", "p1", "p2"},
		Topology:    domain.Topology{Agents: 3, Edges: [][2]int{{0, 1}, {2, 1}}},
		Rounds:      2,
		Temperature: []float64{0.1, 0.2, 0.3},
		TopP:        0.8,
	}
}

func TestAgentsReadTheirPredecessorsAndThemselves(t *testing.T) {
	c, r := threeAgents(), newRecorder()
	d := decide(t, r, c, View{Goal: "g"}, 9)
	for a := range 3 {
		for j := range 2 {
			t.Run(fmt.Sprintf("agent %d, round %d", a, j), func(t *testing.T) {
				q := r.seen[domain.Seed(9, "cell", a, j)]
				if q.Model != c.Policies[a] || q.Temperature != c.Temperature[a] {
					t.Errorf("asked %s at %v, want %s at %v", q.Model, q.Temperature, c.Policies[a], c.Temperature[a])
				}
				if want := d.Cell(a, j, 2).Prompt; q.User != want {
					t.Errorf("asked\n%s\nwant the cell's prompt\n%s", q.User, want)
				}
				own := "You said: " + strings.Join(strings.Fields(d.Cell(a, 0, 2).Text), " ")
				if got, want := strings.Contains(q.User, own), j > 0; got != want {
					t.Errorf("reads its own words: %v, want %v in\n%s", got, want, q.User)
				}
				for _, peer := range []string{"Agent 0 said", "Agent 2 said"} {
					if got, want := strings.Contains(q.User, peer), a == 1; got != want {
						t.Errorf("%q in the prompt: %v, want %v in\n%s", peer, got, want, q.User)
					}
				}
			})
		}
	}
}

func TestTheSameSeedDecidesTheSame(t *testing.T) {
	first := decide(t, newRecorder(), threeAgents(), View{}, 9)
	again := decide(t, newRecorder(), threeAgents(), View{}, 9)
	if !reflect.DeepEqual(again, first) {
		t.Errorf("Decide() = %+v, want %+v", again, first)
	}
}

func TestAFailingModelFailsTheDecision(t *testing.T) {
	down := errors.New("down")
	if d, err := Decide(t.Context(), &recorder{err: down}, threeAgents(), View{}, 9); !errors.Is(err, down) {
		t.Errorf("Decide() = %+v, %v; want %v", d, err, down)
	}
}

// thinker answers as recorder does, with thoughts.
type thinker struct{ *recorder }

func (r thinker) Complete(ctx context.Context, q chat.Request) (chat.Response, error) {
	res, err := r.recorder.Complete(ctx, q)
	res.Reasoning = []string{"the secret\nthought"}

	return res, err
}

func TestThoughtsAreKeptApartAndOutOfMessages(t *testing.T) {
	c := Config{
		Policies:    []string{"a", "b"},
		Topology:    domain.Topology{Agents: 2, Edges: [][2]int{{0, 1}}},
		Rounds:      2,
		Temperature: []float64{0, 0},
	}
	d := decide(t, thinker{newRecorder()}, c, View{Goal: "g"}, 1)
	for _, cell := range d.Cells {
		t.Run(fmt.Sprintf("agent %d, round %d", cell.Agent, cell.Round), func(t *testing.T) {
			if want := "the secret\nthought"; cell.Thought != want {
				t.Errorf("thought %q, want %q", cell.Thought, want)
			}
			if strings.Contains(cell.Text, "secret") {
				t.Errorf("text %q, want it without the thought", cell.Text)
			}
			if strings.Contains(cell.Prompt, "secret") {
				t.Errorf("the agent reads a thought, want words alone in\n%s", cell.Prompt)
			}
			if cell.Agent == 1 && !strings.Contains(cell.Prompt, "Agent 0 said, maybe wrong: Reason: ") {
				t.Errorf("the prompt is\n%s\nwant the peer's words in it", cell.Prompt)
			}
		})
	}
}

func TestSeenAreTheElementsOfEachAgentsPrompts(t *testing.T) {
	var o domain.Observation
	for i := range 40 {
		o.Elements = append(o.Elements, domain.Element{
			Index: i, Role: "button", Text: fmt.Sprint("b", i), Visible: i%5 > 0, Occluded: i%7 == 0,
		})
	}
	d := decide(t, newRecorder(), threeAgents(), View{Observation: o}, 3)
	for _, cell := range d.Cells {
		for _, e := range o.Elements {
			got := slices.Contains(d.Seen[cell.Agent], e.Index)
			if want := strings.Contains(cell.Prompt, "\n"+ElementLine(e)+"\n"); got != want {
				t.Errorf("agent %d, element %d seen: %v, want %v", cell.Agent, e.Index, got, want)
			}
		}
	}
}

func TestSeenIsBoundedAsThePromptIs(t *testing.T) {
	var o domain.Observation
	for i := range maxElements + 10 {
		o.Elements = append(o.Elements, domain.Element{Index: i, Role: "button", Visible: true})
	}
	d := decide(t, newRecorder(), threeAgents(), View{Observation: o}, 3)
	for a, seen := range d.Seen {
		if len(seen) != maxElements || seen[maxElements-1] != maxElements-1 {
			t.Errorf("agent %d saw %d elements, want the first %d", a, len(seen), maxElements)
		}
	}
}

// TestCellsSayWhatOnlyPeersNamed checks that exactly those elements are recorded as told that a peer's action names but
// the prompt does not show.
func TestCellsSayWhatOnlyPeersNamed(t *testing.T) {
	var o domain.Observation
	for i := range 7 {
		o.Elements = append(o.Elements, domain.Element{Index: i, Role: "button", Visible: i != 5})
	}
	c := threeAgents()
	c.Template = Default.Bounded(wordsBeyond(18))
	told := 0
	for seed := range uint64(50) {
		d := decide(t, newRecorder(), c, View{Observation: o}, seed)
		for _, cell := range d.Cells {
			_, words, _ := strings.Cut(cell.Prompt, "Agent 0 said")
			for i := range 7 {
				shown := strings.Contains(cell.Prompt, "\n"+ElementLine(o.Elements[i])+"\n")
				want := strings.Contains(words, fmt.Sprintf(`"index":%d}`, i)) && !shown && i != 5
				if got := slices.Contains(cell.Told, i); got != want {
					t.Errorf("seed %d, agent %d, element %d told: %v, want %v", seed, cell.Agent, i, got, want)
				}
			}
			told += len(cell.Told)
		}
	}
	if told < 20 {
		t.Errorf("%d elements were told, want at least 20", told)
	}
}
