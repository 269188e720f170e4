package credit

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/collabui/collabui/internal/method/chat"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/method/prompts"
)

// Critic grades action matrices by a chat model (METHOD.md section 4, critic). It sees goal, history, screen and all texts; never the reward, the outcome,
// the next screen or what the environment's judge knows.
type Critic struct {
	Chat    chat.Model
	Prompt  *prompts.Prompt
	Forms   prompts.Forms
	Robust  bool // labels with a dead zone between 0.3 and 0.7; else 1 from 0.5
	ByRound bool // one call per round instead of one for all cells of a step
}

// Score is one cell's, as the critic gave it.
type Score struct {
	Agent  int     `json:"agent"`
	Round  int     `json:"round"`
	Value  float64 `json:"score"`
	Reason string  `json:"reason"`
	Given  bool    `json:"given"` // false: no score, after one repair turn; the label is ∅
}

// Audit is how the labels of one step came about.
type Audit struct {
	Step    int                `json:"step"`
	Grades  []Score            `json:"grades"` // in the order of the decision's cells
	Means   map[string]float64 `json:"means"`  // by canonical action: what labels are made of
	Spread  float64            `json:"spread"` // the largest difference between scores of one canonical action
	Repairs int                `json:"repairs"`
	Faults  []CriticFault      `json:"faults,omitempty"` // why cells stayed without a score
	Prompt  string             `json:"prompt"`           // digest of the template
	Version string             `json:"prompt_version"`
	Blinded int                `json:"blinded,omitempty"` // of adversarial candidates: cells labelled 1 that were shuffled among them
	Again   int                `json:"again,omitempty"`   // of these, labelled 1 again: the critic's consistency with itself
	Usage   domain.Usage       `json:"usage"`
}

// CriticFault is why cells have no score after the repair turn: their label is ∅.
type CriticFault struct {
	Kind   string `json:"kind"` // FaultShape or FaultMissing
	Detail string `json:"detail"`
}

// Kinds of a critic's faults.
const (
	FaultShape   = "shape"   // the answer holds no readable list of grades
	FaultMissing = "missing" // cells have no usable score
)

// Bounds of what reaches a prompt, and what is kept of an answer.
const (
	maxGoal, maxLine, maxCell, maxReason = 400, 200, 1200, 300
)

// gradesSchema is the form of a critic's answer about some cells: servers that hold answers to a schema cannot leave one out.
func gradesSchema(cells []string) *chat.Schema {
	names, err := json.Marshal(cells)
	if err != nil {
		panic(err) // strings
	}
	return &chat.Schema{Name: "grades", Strict: true, JSON: json.RawMessage(fmt.Sprintf(`{"type":"object","additionalProperties":false,"required":["grades"],"properties":{"grades":{"type":"array","minItems":%d,"maxItems":%d,"items":`+
		`{"type":"object","additionalProperties":false,"required":["cell","reason","score"],"properties":{"cell":{"type":"string","enum":%s},"reason":{"type":"string"},"score":{"type":"number"}}}}}}`, len(cells), len(cells), names))}
}

// Label grades a step and labels its cells. Cells that do not parse are 0 without being asked for: nothing was proposed. An answer that lacks cells or is no JSON is
// asked for once more; what is missing then is ∅, never invented. Errors of the endpoint are returned: the step may be graded again.
func (c Critic) Label(ctx context.Context, s domain.Step, seed uint64) (domain.Credit, Audit, error) {
	cells := s.Decision.Cells
	a := Audit{Step: s.Number, Grades: make([]Score, len(cells)), Means: map[string]float64{}, Prompt: c.Prompt.Digest, Version: c.Prompt.Version}
	var groups [][]int
	for i, x := range cells {
		a.Grades[i] = Score{Agent: x.Agent, Round: x.Round}
		if x.Action == nil {
			continue
		}
		g := 0
		if c.ByRound {
			g = x.Round
		}
		for len(groups) <= g {
			groups = append(groups, nil)
		}
		groups[g] = append(groups[g], i)
	}
	for g, idx := range groups {
		if len(idx) == 0 {
			continue
		}
		if err := c.grade(ctx, s, idx, domain.Seed(seed, "critic", g), &a); err != nil {
			return domain.Credit{}, a, err
		}
	}
	return c.labels(s, &a), a, nil
}

// labels averages scores per canonical action, so that equal actions have equal labels.
func (c Critic) labels(s domain.Step, a *Audit) domain.Credit {
	out := domain.Credit{Step: s.Number, Labels: make([]domain.Label, len(s.Decision.Cells))}
	type span struct{ sum, n, low, high float64 }
	by := map[string]*span{}
	for i, x := range s.Decision.Cells {
		if g := a.Grades[i]; x.Action != nil && g.Given {
			p := by[x.Canonical]
			if p == nil {
				p = &span{low: g.Value, high: g.Value}
				by[x.Canonical] = p
			}
			p.sum, p.n, p.low, p.high = p.sum+g.Value, p.n+1, math.Min(p.low, g.Value), math.Max(p.high, g.Value)
		}
	}
	for k, p := range by {
		a.Means[k], a.Spread = p.sum/p.n, math.Max(a.Spread, p.high-p.low)
	}
	for i, x := range s.Decision.Cells {
		mean, ok := a.Means[x.Canonical]
		switch {
		case x.Action == nil: // nothing proposed: 0
		case !a.Grades[i].Given || !ok:
			out.Labels[i] = domain.Uncertain
		default:
			out.Labels[i] = c.label(mean)
		}
	}
	return out
}

// label is METHOD.md's rule: `paper` 1 at ≥ 0.5 else 0, `robust` 1 at ≥ 0.7, 0 at ≤ 0.3, ∅ between.
func (c Critic) label(score float64) domain.Label {
	low, high := 0.5, 0.5
	if c.Robust {
		low, high = 0.3, 0.7
	}
	switch {
	case score >= high:
		return domain.Positive
	case score <= low || !c.Robust:
		return domain.Negative
	}
	return domain.Uncertain
}

// Candidates labels an adversary's candidates of one step, in one call, shuffled among the step's cells labelled 1, which the critic does not know to be such.
func (c Critic) Candidates(ctx context.Context, s domain.Step, labels []domain.Label, cands []domain.Cell, seed uint64) ([]domain.Label, Audit, error) {
	all := slices.Clone(cands)
	seen := map[string]bool{}
	for i, x := range s.Decision.Cells {
		if labels[i] == domain.Positive && !seen[x.Canonical] {
			seen[x.Canonical] = true
			all = append(all, x)
		}
	}
	order := domain.Rand(seed, "blind").Perm(len(all))
	blind := s
	blind.Decision.Cells = make([]domain.Cell, len(all))
	for at, i := range order {
		blind.Decision.Cells[at] = all[i]
		blind.Decision.Cells[at].Agent, blind.Decision.Cells[at].Round = at, 0
	}
	c.ByRound = false
	l, a, err := c.Label(ctx, blind, domain.Seed(seed, "candidates"))
	if err != nil {
		return nil, a, err
	}
	out := make([]domain.Label, len(cands))
	for at, i := range order {
		if i < len(cands) {
			out[i] = l.Labels[at]
			continue
		}
		a.Blinded++
		if l.Labels[at] == domain.Positive {
			a.Again++
		}
	}
	return out, a, nil
}

func cellID(agent, round int) string { return fmt.Sprintf("%d.%d", agent, round) }

// grade asks for the cells idx, and once more for what the answer lacks.
func (c Critic) grade(ctx context.Context, s domain.Step, idx []int, seed uint64, a *Audit) error {
	type cell struct{ ID, Text string }
	data := struct {
		prompts.Forms
		view
		Cells []cell
	}{Forms: c.Forms, view: seen(s)}
	want := map[string]int{}
	for _, i := range idx {
		x := s.Decision.Cells[i]
		data.Cells = append(data.Cells, cell{cellID(x.Agent, x.Round), agents.Line(x.Text, maxCell)})
		want[cellID(x.Agent, x.Round)] = i
	}
	sys, user, err := c.Prompt.Messages(data)
	if err != nil {
		return err
	}
	ids := make([]string, len(data.Cells))
	for i, x := range data.Cells {
		ids[i] = x.ID
	}
	q := chat.Request{System: sys, User: user, Schema: gradesSchema(ids), TopP: 1, Seed: seed, N: 1}
	for turn := range 2 {
		r, err := c.Chat.Complete(ctx, q)
		if err != nil {
			return err
		}
		a.Usage = a.Usage.Plus(r.Usage)
		wrong := take(r.Texts[0], want, a.Grades)
		if len(want) == 0 {
			return nil
		}
		missing := slices.SortedFunc(maps.Keys(want), func(x, y string) int { return want[x] - want[y] })
		kind := FaultShape
		if wrong == "" {
			kind, wrong = FaultMissing, "no usable score for "+strings.Join(missing, ", ")
		}
		if turn == 1 {
			a.Faults = append(a.Faults, CriticFault{kind, wrong})
			return nil
		}
		a.Repairs++
		again, err := c.Prompt.Render("repair", struct {
			Wrong   string
			Missing []string
		}{wrong, missing})
		if err != nil {
			return err
		}
		q.More = []chat.Turn{{Assistant: true, Text: agents.Line(r.Texts[0], 4*maxCell)}, {Text: again}}
		q.Seed, q.Schema = domain.Seed(seed, "repair"), gradesSchema(missing)
	}
	return nil
}

// take reads an answer: every entry with a wanted cell and a score from 0 to 1 is taken and struck off; a cell that is graded twice with different scores is not
// taken at all. It says what is wrong where nothing can be read.
func take(text string, want map[string]int, grades []Score) (wrong string) {
	var answer struct {
		Grades []struct {
			Cell   json.RawMessage `json:"cell"`
			Score  json.RawMessage `json:"score"`
			Reason json.RawMessage `json:"reason"`
		} `json:"grades"`
	}
	raw, ok := agents.FindObject(text, "grades")
	if !ok {
		return "it holds no JSON object with grades"
	}
	if err := json.Unmarshal([]byte(raw), &answer); err != nil {
		return "its grades are no list of objects"
	}
	found, torn := map[int]Score{}, map[int]bool{}
	for _, g := range answer.Grades {
		i, ok := want[unquote(g.Cell)]
		score, err := strconv.ParseFloat(unquote(g.Score), 64)
		if !ok || err != nil || !(score >= 0 && score <= 1) { // NaN is neither
			continue
		}
		if old, twice := found[i]; twice && old.Value != score {
			torn[i] = true
		}
		x := grades[i]
		x.Value, x.Reason, x.Given = score, agents.Line(unquote(g.Reason), maxReason), true
		found[i] = x
	}
	for id, i := range want {
		if x, ok := found[i]; ok && !torn[i] {
			grades[i] = x
			delete(want, id)
		}
	}
	return ""
}

// unquote gives a JSON string's text, and other JSON as it stands: models write numbers as strings, and strings as numbers.
func unquote(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return strings.TrimSpace(s)
	}
	return strings.TrimSpace(string(raw))
}
