package credit

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/method/chat"
	"github.com/collabui/collabui/internal/method/prompts"
)

// Bounds on what reaches a prompt and on what is recorded of an answer, in characters.
const (
	maxReason = 300
	maxAnswer = 4800 // a critic's own answer, when it is requested again
)

// maxCell returns the most characters of a graded answer: more than other agents read of it.
func maxCell(limits agents.Limits) int { return 2 * limits.OrSmall().Message }

// view is the part of a step that the critic and the adversary see.
type view struct {
	Goal            string
	History, Screen []string
}

func viewOf(step domain.Step, limits agents.Limits) view {
	limits = limits.OrSmall()
	v := view{Goal: agents.Line(step.Goal, limits.Goal), Screen: limits.Lines(step.Observation)}
	for _, line := range step.History {
		v.History = append(v.History, limits.HistoryLine(line))
	}

	return v
}

// question is the data of the critic's template.
type question struct {
	prompts.Forms
	view
	Cells []questionCell
}

type questionCell struct{ ID, Text string }

func cellID(cell domain.Cell) string { return fmt.Sprintf("%d.%d", cell.Agent, cell.Round) }

// grade requests scores for the cells with the given indices, and once more for the cells that the answer lacks. The
// scores, usage and faults are added to the audit.
func (c ModelCritic) grade(ctx context.Context, step domain.Step, cells []int, seed uint64, audit *Audit) error {
	data := question{Forms: c.Forms, view: viewOf(step, c.Limits)}
	want := map[string]int{} // indices of the cells that lack a score, by ID
	var ids []string
	for _, i := range cells {
		cell := step.Decision.Cells[i]
		text := agents.ShortenAnswer(cell.Text, maxCell(c.Limits))
		data.Cells = append(data.Cells, questionCell{ID: cellID(cell), Text: text})
		ids = append(ids, cellID(cell))
		want[cellID(cell)] = i
	}
	sys, user, err := c.Prompt.Messages(data)
	if err != nil {
		return err
	}

	request := chat.Request{
		System: sys, User: agents.WithPicture(user, step.Decision.Image), Images: chat.Stored(step.Decision.Image),
		Schema: gradesSchema(ids), TopP: 1, Seed: seed, N: 1,
	}
	response, wrong, err := c.requestScores(ctx, request, want, audit)
	if fault.KindOf(err) == fault.Refused {
		audit.Faults = append(audit.Faults, refusedFault(err))

		return nil
	}
	if err != nil {
		return err
	}
	if len(want) == 0 {
		response.Read("")

		return nil
	}

	audit.Repairs++
	missing := missingOf(want)
	again, err := c.Prompt.Render("repair", struct {
		Wrong   string
		Missing []string
	}{Wrong: wrong.Detail, Missing: missing})
	if err != nil {
		return err
	}
	request.More = []chat.Turn{{Assistant: true, Text: agents.Line(response.Texts[0], maxAnswer)}, {Text: again}}
	request.Seed = domain.Seed(seed, "repair")
	request.Schema = gradesSchema(missing)
	response, wrong, err = c.requestScores(ctx, request, want, audit)
	if fault.KindOf(err) == fault.Refused {
		audit.Faults = append(audit.Faults, refusedFault(err))

		return nil
	}
	if err != nil {
		return err
	}
	if len(want) > 0 {
		audit.Faults = append(audit.Faults, wrong)
	}
	if len(want) < len(cells) {
		wrong.Detail = ""
	}
	response.Read(wrong.Detail)

	return nil
}

// refusedFault returns the fault of a request that the model refused.
func refusedFault(err error) CriticFault {
	return CriticFault{Kind: FaultRefused, Detail: agents.Refusal(err)}
}

// requestScores makes one call and takes the scores from its answer. It returns the answer, and the fault that applies
// if cells still lack a score.
func (c ModelCritic) requestScores(
	ctx context.Context, request chat.Request, want map[string]int, audit *Audit,
) (response chat.Response, missing CriticFault, err error) {
	response, err = c.Chat.Complete(ctx, request)
	if err != nil {
		return response, missing, err
	}
	audit.Usage = audit.Usage.Plus(response.Usage)
	if wrong := takeScores(response.Texts[0], want, audit.Grades); wrong != "" {
		return response, CriticFault{Kind: FaultShape, Detail: wrong}, nil
	}
	detail := "no usable score for " + strings.Join(missingOf(want), ", ")

	return response, CriticFault{Kind: FaultMissing, Detail: detail}, nil
}

// missingOf lists the IDs of cells in the order of the decision.
func missingOf(want map[string]int) []string {
	return slices.SortedFunc(maps.Keys(want), func(x, y string) int { return want[x] - want[y] })
}

// gradesSchema returns the schema of a critic's answer about some cells. A server that enforces schemas cannot omit one
// of them.
func gradesSchema(cells []string) *chat.Schema {
	names, err := json.Marshal(cells)
	if err != nil {
		panic(err) // encoding strings never fails
	}
	const form = `{"type":"object","additionalProperties":false,"required":["grades"],` +
		`"properties":{"grades":{"type":"array","minItems":%d,"maxItems":%d,"items":` +
		`{"type":"object","additionalProperties":false,"required":["cell","reason","score"],` +
		`"properties":{"cell":{"type":"string","enum":%s},"reason":{"type":"string"},"score":{"type":"number"}}}}}}`
	schema := fmt.Sprintf(form, len(cells), len(cells), names)

	return &chat.Schema{Name: "grades", Strict: true, JSON: json.RawMessage(schema)}
}

// grade is an entry of a critic's answer.
type grade struct {
	Cell   json.RawMessage `json:"cell"`
	Score  json.RawMessage `json:"score"`
	Reason json.RawMessage `json:"reason"`
}

// takeScores takes from an answer every entry for a wanted cell with a score from 0 to 1, stores it in grades, and
// deletes the cell from want. A cell that was graded twice with different scores stays in want. If the answer cannot be
// read, takeScores returns what is wrong with it, and otherwise "".
func takeScores(text string, want map[string]int, grades []Score) (wrong string) {
	raw, ok := agents.FindObject(text, "grades")
	if !ok {
		return "it holds no JSON object with grades"
	}
	var answer struct {
		Grades []grade `json:"grades"`
	}
	if err := json.Unmarshal([]byte(raw), &answer); err != nil {
		return "its grades are no list of objects"
	}

	found := map[int]Score{}
	conflicting := map[int]bool{}
	for _, g := range answer.Grades {
		i, ok := want[unquote(g.Cell)]
		score, err := strconv.ParseFloat(unquote(g.Score), 64)
		if !ok || err != nil || !(score >= 0 && score <= 1) { // the comparison also rejects NaN
			continue
		}
		if old, twice := found[i]; twice && old.Value != score {
			conflicting[i] = true
		}
		x := grades[i]
		x.Value = score
		x.Reason = agents.Line(unquote(g.Reason), maxReason)
		x.Given = true
		found[i] = x
	}
	for id, i := range want {
		if x, ok := found[i]; ok && !conflicting[i] {
			grades[i] = x
			delete(want, id)
		}
	}

	return ""
}

// unquote returns the text of a JSON string, and any other JSON unchanged, because models write numbers as strings and
// strings as numbers.
func unquote(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return strings.TrimSpace(text)
	}

	return strings.TrimSpace(string(raw))
}
