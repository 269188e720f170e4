package synth

import (
	"context"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
)

// Batch holds the training examples made from one trajectory, and counts of the proposed items.
type Batch struct {
	Rows   []domain.Example `json:"rows"`
	Counts ItemCounts       `json:"counts"`
}

// Drop counts an item that is dropped, with the reason.
func (b *Batch) Drop(why string) { b.Counts.Dropped[why]++ }

// Keep adds a training example. messages specifies whether its prompt contains messages.
func (b *Batch) Keep(pair domain.Example, kind string, messages bool) {
	b.Rows = append(b.Rows, pair)
	b.Counts.Kept++
	b.Counts.ByKind[kind]++
	if messages {
		b.Counts.Messages++
	}
}

// Writing specifies how items about screens become training examples.
type Writing struct {
	Author Author
	Target Target
	Level  int            // 1 or 2
	Items  int            // how many the author proposes about a screen at most
	Row    domain.Example // the fields that all training examples of the trajectory share
}

// Write has the author propose items about a screen and keeps the valid ones. Errors come from the author, except for
// refusals, which are counted, and from the agents' template.
func (b *Batch) Write(ctx context.Context, writing Writing, screen Screen, seed uint64) error {
	level := writing.Level
	ask := writing.Author.Questions
	if level == 2 {
		ask = writing.Author.Instructions
	}
	b.Counts.Asked++
	items, answered, err := ask(ctx, screen, writing.Items, seed)
	if fault.KindOf(err) == fault.Refused {
		b.Counts.Proposed++
		b.Drop(DropRefused)

		return nil
	}
	if err != nil {
		return err
	}
	if !answered {
		b.Counts.Unanswered++
	}

	var limit endings
	for i, it := range items {
		b.Counts.Proposed++
		result, err := writing.Target.example(it, level, writing.Row, screen, domain.Seed(seed, "row", i))
		if err != nil {
			return err
		}
		if result.dropped == "" && level == 2 {
			result.dropped = limit.dropReason(*it.Action)
		}
		if result.dropped != "" {
			b.Drop(result.dropped)

			continue
		}
		kind := it.Kind
		if level == 2 {
			kind = it.Action.Type
		}
		b.Keep(result.pair, kind, result.messages)
	}

	return nil
}

// endings counts the instructions for a screen that end an episode.
type endings struct{ complete, answers int }

// dropReason counts an action and returns the reason for dropping it, or "".
func (e *endings) dropReason(action domain.Action) string {
	switch {
	case action.Type == domain.ActionAnswer, action.Type == domain.ActionFinish && action.Answer != "":
		if e.answers++; e.answers > 1 {
			return DropAnswer
		}
	case action.Type == domain.ActionStatus, action.Type == domain.ActionFinish:
		if e.complete++; e.complete > 2 {
			return DropComplete
		}
	}

	return ""
}
