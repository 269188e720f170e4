package view_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/method/credit"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/view"
	"github.com/collabui/collabui/test/kit/injection"
	"github.com/collabui/collabui/workers/catalog"
)

// hostile are texts that would have an effect if a page interpreted them.
var hostile = []string{
	`<img src=x onerror="window.pwned=1">`, `</script><script>window.pwned=1</script>`,
	`"><svg onload=window.pwned=1>`, "javascript:window.pwned=1", "${window.pwned=1}", "</title><b>bold</b>",
	"\u2028window.pwned=1//", "مرحبا بالعالم", "中文字", "\x1b[2J",
}

// crafted writes the run "crafted": one epoch with a slot of every kind. 1 has a step that was graded and paired, with
// hostile texts everywhere; 2 failed; 3 was played again after a void attempt, with a refused cell and one that does
// not parse; 4 is still open; 5 has not begun.
func crafted(t testing.TB, b store.Bucket, change ...func(*spec.Spec)) runs.Run {
	t.Helper()
	s := spec.Default()
	s.Name, s.Agents, s.Rounds, s.Epochs, s.Slots = "crafted", 2, 2, 1, 5
	s.Decoding.Temperatures = []float64{0.5}
	for _, f := range change {
		f(&s)
	}
	run := runs.Run(s.Name)
	record(t, b, run.Spec(), s)
	graph := domain.Topology{Agents: 2, Edges: [][2]int{{0, 1}}}
	record(t, b, run.Topology(1), graph)

	slots := runs.Slots{Epoch: 1}
	for n := 1; n <= 5; n++ {
		slots.Slots = append(slots.Slots, domain.Slot{
			Epoch: 1, Number: n, Seed: 1 << 63,
			Task: domain.Task{Template: "tap" + hostile[0], Split: "train", Seed: 1<<64 - 1, MaxSteps: 3},
		})
	}
	slots.Slots[1].Task.Template = "drag"
	record(t, b, run.Slots(1), slots)
	record(t, b, run.Made(0), runs.Made{})
	record(t, b, run.Made(1), runs.Made{})
	record(t, b, run.Base(), runs.Base{Curve: []runs.EvalPoint{{Rate: 0.4}}})

	play(t, b, run, slots.Slots[0], 1, hostileStep())
	credited(t, b, run)
	record(t, b, run.Start(1, 2, 1), runs.Start{Slot: slots.Slots[1], Attempt: 1})
	record(t, b, run.Attempt(1, 2, 1), runs.Episode{Slot: slots.Slots[1], Attempt: 1, Failed: "it fell" + hostile[1]})

	record(t, b, run.Start(1, 3, 1), runs.Start{Slot: slots.Slots[2], Attempt: 1})
	died := runs.Episode{Slot: slots.Slots[2], Attempt: 1, Void: "the browser died" + hostile[2]}
	record(t, b, run.Attempt(1, 3, 1), died)
	odd := hostileStep()
	odd.Decision.Cells[1].Refused, odd.Decision.Cells[1].Action = "too long"+hostile[3], nil
	odd.Decision.Cells[2].ParseError, odd.Decision.Cells[2].Action = "no action"+hostile[4], nil
	play(t, b, run, slots.Slots[2], 2, odd)

	record(t, b, run.Start(1, 4, 1), runs.Start{Slot: slots.Slots[3], Attempt: 1})
	record(t, b, run.Step(1, 4, 1, 1), runs.Step{Step: hostileStep()})

	return run
}

func record[T any](t testing.TB, b store.Bucket, o runs.Object[T], v T) store.Ref {
	t.Helper()
	_, ref, err := o.Record(t.Context(), b, func() (T, error) { return v, nil })
	if err != nil {
		t.Fatal(err)
	}

	return ref
}

// hostileStep is a decision of two agents in two rounds that was changed by reading, and a tie.
func hostileStep() domain.Step {
	o := domain.Observation{Width: 360, Height: 640, Elements: []domain.Element{
		{Index: 0, Role: "button", Text: "Send" + hostile[0], Visible: true, Bounds: domain.Rect{10, 10, 120, 40}},
		{Index: 1, Role: "field", Text: hostile[7], Value: hostile[8], Editable: true, Visible: true,
			Bounds: domain.Rect{10, 60, 200, 40}},
	}}
	texts := strings.Join(append(injection.Corpus()[:8:8], hostile...), "\n")
	say := func(agent, round int, index int) domain.Cell {
		a := domain.Action{Type: domain.ActionClick}.At(index)
		c := agents.NewCell(agent, round, "Reason: "+texts+"\nAction: "+a.JSON(), "Goal: g\n"+texts, o)
		c.Thought = "I think" + hostile[0]
		c.LogProb, c.Usage = -float64(1+agent), domain.Usage{Prompt: 100, Answer: 10}

		return c
	}
	cells := []domain.Cell{say(0, 0, 0), say(0, 1, 0), say(1, 0, 1), say(1, 1, 0)}
	cells[3].Canonical, cells[3].Action = cells[2].Canonical, cells[2].Action
	cells[1].Canonical, cells[1].Action = cells[2].Canonical, cells[2].Action
	cells[3] = say(1, 1, 0)

	return domain.Step{
		Number: 1, Goal: "=1+cmd|' /C calc'!A0" + texts, History: []string{"1 click" + hostile[1]}, Observation: o,
		Right: []domain.Action{domain.Action{Type: domain.ActionClick}.At(0)},
		Decision: domain.Decision{
			Cells: cells, Executed: *cells[0].Action, Seen: [][]int{{0, 1}, {0}},
			AllRound: domain.Vote{Canonical: cells[0].Canonical, Votes: 2, Rule: "last-round"},
			LastOnly: domain.Vote{Canonical: cells[3].Canonical, Votes: 1, Rule: "scan"},
		},
	}
}

// play writes an attempt with one step.
func play(t testing.TB, b store.Bucket, run runs.Run, slot domain.Slot, attempt int, step domain.Step) {
	t.Helper()
	record(t, b, run.Start(1, slot.Number, attempt), runs.Start{Slot: slot, Attempt: attempt})
	ref := record(t, b, run.Step(1, slot.Number, attempt, 1), runs.Step{Step: step})
	record(t, b, run.Attempt(1, slot.Number, attempt), runs.Episode{
		Slot: slot, Attempt: attempt, Goal: step.Goal, Steps: []store.Ref{ref},
		Outcome: domain.Outcome{Success: slot.Number == 1, Steps: 1},
	})
}

// credited grades and pairs slot 1: the critic contradicts the judge in one cell of four.
func credited(t testing.TB, b store.Bucket, run runs.Run) {
	t.Helper()
	record(t, b, run.Credits(1, 1), runs.Credits{
		Critic: "a model" + hostile[0], Steps: []domain.Credit{{Step: 1, Labels: []domain.Label{1, 0, 1, 1}}},
		Audit: []credit.Audit{{Grades: []credit.Score{
			{Agent: 1, Round: 0, Given: true, Value: 0.9, Reason: "it looks right" + hostile[3]},
		}}},
	})
	record(t, b, run.Pairs(1, 1), runs.Pairs{Pairs: []domain.Example{{
		Agent: 0, Step: 1, Chosen: "chosen" + hostile[0], Rejected: "rejected" + hostile[1],
		Source: domain.SourceAdversary, Weight: 1,
	}, {
		Agent: 1, Step: 1, Chosen: "what the critic took for right", Rejected: "what was right",
		Source: domain.SourceAdversary, Weight: 1,
	}}})
}

// liveStatus is the status of an open run.
var liveStatus = map[string]any{
	"phase": "rollouts" + hostile[0], "slots": 5, "done": 3, "successes": 1, "per_minute": 2.5, "left_s": 120,
	"training":    []any{map[string]any{"of": "update/0", "now": "step 3" + hostile[1]}},
	"tried_again": []any{map[string]any{"activity": "Reset", "of": "x", "number": 2, "tries": 3, "why": hostile[2]}},
	"around": map[string]any{
		"workers":             2,
		"environment_servers": []any{map[string]any{"address": "http://x", "state": "down", "detail": hostile[1]}},
	},
}

// library returns a library over a store whose runs have no status but their names.
func library(b store.Bucket, chunk int) *view.Library {
	return &view.Library{
		Bucket: b, Catalog: catalog.All{}, Chunk: chunk,
		Status: func(ctx context.Context, run string) (any, error) {
			end, _, err := runs.Run(run).End().Must(ctx, b)
			if err != nil {
				end.Results, end.Curve = []runs.Result{}, []runs.EvalPoint{{At: 0, Rate: 0.4}}
			}

			return map[string]any{
				"name": run, "status": "running", "stage": "epoch", "epoch": 1, "epochs": 1, "critic": "c" + hostile[0],
				"results": end.Results, "curve": end.Curve, "reason": fmt.Sprint("because ", hostile),
				"live": liveStatus, "spent": runs.Spent{}, "spending": []runs.Spending{{
					Purpose: runs.Purpose{Role: "critic" + hostile[0], Model: "m" + hostile[1], Epoch: 1},
					Spent:   runs.Spent{Calls: 2, Tokens: 30, Estimated: 1},
				}},
				"changes": []runs.Change{{
					Who: "me" + hostile[0], Why: "why" + hostile[1], Verb: "set" + runs.Verb(hostile[2]),
					Link: "javascript:window.pwned=1", Values: map[string]json.RawMessage{"k": json.RawMessage(`"v"`)},
				}},
			}, nil
		},
	}
}
