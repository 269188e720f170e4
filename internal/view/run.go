package view

import (
	"context"
	"path"
	"strings"
	"time"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/credit"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/method/synth"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
)

// runPage is the content of the pages of a run.
type runPage struct {
	Name        string       `json:"name"`
	Status      any          `json:"status"`           // the answer of `show --json`
	Spec        spec.Spec    `json:"spec"`             // with all changes
	Lines       []specLine   `json:"lines"`            // Spec as YAML
	Began       time.Time    `json:"began,omitzero"`   // when the store received the specification
	BaseAt      time.Time    `json:"base_at,omitzero"` // the result of stage 1
	Ended       time.Time    `json:"ended,omitzero"`   // and the end
	Who         string       `json:"who,omitempty"`    // who started it
	System      string       `json:"system"`           // the agents' system message, from Spec
	Epochs      []epochPage  `json:"epochs"`           // epochs that have begun
	Levels      []synth.Card `json:"levels"`           // data cards of stage 1
	Evaluations []evaluation `json:"evaluations"`
	BaseVal     *runs.Result `json:"base_val,omitempty"` // of the base policy on val, with which curves begin
	Lineage     []ancestor   `json:"lineage"`
	Chunk       int          `json:"chunk"`           // episodes in a document
	Short       bool         `json:"short,omitempty"` // a report contains only lines about its episodes
}

// epochPage is an epoch of a run.
type epochPage struct {
	Number    int           `json:"number"`
	At        time.Time     `json:"at,omitzero"` // when the store received the commit
	Edges     [][2]int      `json:"edges"`
	Slots     int           `json:"slots"`
	Committed bool          `json:"committed"`
	Rollouts  *runs.Result  `json:"rollouts,omitempty"`
	Val       *runs.Result  `json:"val,omitempty"`
	Pairs     int           `json:"pairs"`
	Failed    int           `json:"failed"`
	Kept      string        `json:"kept,omitempty"`
	Accepted  string        `json:"accepted,omitempty"`
	Digest    string        `json:"digest,omitempty"`
	Updates   []epochUpdate `json:"updates"`

	// System is the agents' system message in the epoch, if it differs from the run's current one. It is empty if the
	// prompt of the epoch is neither in the specification nor in this build.
	System *string `json:"system,omitempty"`
}

// epochUpdate is the update of an agent.
type epochUpdate struct {
	Agent   int                 `json:"agent"`
	Policy  string              `json:"policy"`
	Kept    string              `json:"kept,omitempty"`
	Steps   int                 `json:"steps"`
	Skipped int                 `json:"skipped"`
	Without []int               `json:"without,omitempty"`
	Rows    int                 `json:"rows"`
	Curve   []domain.TrainPoint `json:"curve,omitempty"`
	Probe   domain.Probe        `json:"probe"`
	Served  domain.Gap          `json:"train_serve_gap,omitzero"`
	Played  domain.Gap          `json:"rollout_gap,omitzero"`
	Card    *credit.Card        `json:"card,omitempty"`
}

// evaluation is a result of a system on a split. Epoch is the epoch after which it was played, -1 for other occasions.
type evaluation struct {
	ID     string      `json:"id"`
	Folder string      `json:"folder"`
	Epoch  int         `json:"epoch"`
	Result runs.Result `json:"result"`
}

func (l *Library) run(ctx context.Context, run runs.Run) (page runPage, err error) {
	page = runPage{Name: string(run), Epochs: []epochPage{}, Levels: []synth.Card{}, Evaluations: []evaluation{},
		Lineage: []ancestor{}, Chunk: l.Chunk}
	if page.Spec, err = run.Current(ctx, l.Bucket); err != nil {
		return page, err
	}
	if page.Status, err = l.Status(ctx, page.Name); err != nil {
		return page, err
	}
	template, err := rules.Template(page.Spec)
	if err != nil {
		return page, err
	}
	page.System = template.System()
	changes, err := run.Changes(ctx, l.Bucket, 0, 0)
	if err != nil {
		return page, err
	}
	if lines, err := specLines(page.Spec, changes); err == nil { // else it is larger than a file may be
		page.Lines = lines
	}
	if err := page.readTimes(ctx, l); err != nil {
		return page, err
	}
	for n := 1; ; n++ {
		e, begun, err := l.epoch(ctx, run, n, page.Spec.Agents)
		if err != nil {
			return page, err
		}
		if !begun {
			break
		}
		if e.System != nil && *e.System == page.System {
			e.System = nil
		}
		page.Epochs = append(page.Epochs, e)
	}
	sets, err := run.Levels(ctx, l.Bucket)
	if err != nil {
		return page, err
	}
	for _, set := range sets {
		page.Levels = append(page.Levels, set.Card)
	}
	if page.Evaluations, err = l.evaluated(ctx, run); err != nil {
		return page, err
	}
	base := path.Join(rules.EpochFolder(0), rules.ValName(page.Spec, 0), domain.SplitVal)
	for _, e := range page.Evaluations {
		if e.ID == base {
			page.BaseVal = &e.Result
		}
	}
	page.Lineage, err = l.lineage(ctx, page.Name)

	return page, err
}

// readTimes reads who started a run, and when its parts were recorded.
func (p *runPage) readTimes(ctx context.Context, library *Library) error {
	run := runs.Run(p.Name)
	claim, _, err := run.Claim(1).May(ctx, library.Bucket)
	if err != nil {
		return err
	}
	p.Who = claim.Who
	if p.Began, err = library.written(ctx, run.Spec().Key); err != nil {
		return err
	}
	if p.BaseAt, err = library.written(ctx, run.Base().Key); err != nil {
		return err
	}
	p.Ended, err = library.written(ctx, run.End().Key)

	return err
}

// epoch reads an epoch, if it has begun.
func (l *Library) epoch(ctx context.Context, run runs.Run, number, agents int) (page epochPage, begun bool, err error) {
	page = epochPage{Number: number, Updates: []epochUpdate{}}
	slots, begun, err := run.Slots(number).May(ctx, l.Bucket)
	if err != nil || !begun {
		return page, false, err
	}

	return page, true, page.read(ctx, l, run, slots, agents)
}

// read reads an epoch that has begun.
func (p *epochPage) read(ctx context.Context, library *Library, run runs.Run, slots runs.Slots, agents int) error {
	number := p.Number
	graph, _, err := run.Topology(number).Must(ctx, library.Bucket)
	if err != nil {
		return err
	}
	p.Slots = len(slots.Slots)
	p.Edges = graph.Edges
	message, err := MessageOf(ctx, library.Bucket, run, number, slots.Prompt)
	if err != nil {
		return err
	}
	p.System = &message
	e, committed, err := run.Epoch(number).May(ctx, library.Bucket)
	if err != nil {
		return err
	}
	if committed {
		p.Committed = true
		if p.At, err = library.written(ctx, run.Epoch(number).Key); err != nil {
			return err
		}
		p.Rollouts = &e.Rollouts
		p.Val = e.Val
		p.Pairs = e.Pairs
		p.Failed = e.FailedAll
		p.Kept = e.Kept
		p.Accepted = e.Accepted
		p.Digest = e.Digest
	}
	for agent := range agents {
		update, ended, err := run.Update(number, agent).May(ctx, library.Bucket)
		if err != nil {
			return err
		}
		if !ended {
			continue
		}
		out, err := library.update(ctx, update)
		if err != nil {
			return err
		}
		p.Updates = append(p.Updates, out)
	}

	return nil
}

func (l *Library) update(ctx context.Context, u runs.Update) (epochUpdate, error) {
	out := epochUpdate{
		Agent: u.Agent, Policy: u.Policy.Digest, Kept: u.Kept, Steps: u.Steps, Skipped: u.Skipped, Without: u.Without,
		Curve: u.Curve, Probe: u.Probe, Served: u.Served, Played: u.Played,
	}
	if u.Dataset.Key == "" {
		return out, nil
	}
	set, exists, err := store.May[runs.Dataset](ctx, l.Bucket, u.Dataset.Key)
	if exists {
		out.Card = &set.Card
		out.Rows = set.Count
	}

	return out, err
}

// evaluated lists the results of a run's evaluations.
func (l *Library) evaluated(ctx context.Context, run runs.Run) ([]evaluation, error) {
	out := []evaluation{}
	prefix := run.EvalPrefix()
	keys, err := run.Keys(ctx, l.Bucket, "evals/")
	if err != nil {
		return out, err
	}
	for _, key := range keys {
		id := path.Dir(key[len(prefix):])
		if path.Base(key) != "result.json" {
			continue
		}
		folder, _, _ := strings.Cut(id, "/")
		result, _, err := run.Result(id).Must(ctx, l.Bucket)
		if err != nil {
			return out, err
		}
		x := evaluation{ID: id, Folder: folder, Epoch: -1, Result: result}
		if n, ok := rules.EpochOf(folder); ok {
			x.Epoch = n
		}
		out = append(out, x)
	}

	return out, nil
}
