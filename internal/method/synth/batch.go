package synth

import (
	"context"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
)

// Batch is what was made from one trajectory, with the counts of what was proposed.
type Batch struct {
	Rows   []domain.Example `json:"rows"`
	Counts ItemCounts       `json:"counts"`
}

// Drop counts an item that is not kept.
func (b *Batch) Drop(why string) { b.Counts.Dropped[why]++ }

// Keep adds a training example; messages says whether its prompt has some.
func (b *Batch) Keep(pair domain.Example, kind string, messages bool) {
	b.Rows = append(b.Rows, pair)
	b.Counts.Kept++
	b.Counts.ByKind[kind]++
	if messages {
		b.Counts.Messages++
	}
}

// Write asks an author for up to n items about a screen and keeps the valid ones. The level is 1 or 2. The pair has
// what all training examples of the trajectory share.
func (b *Batch) Write(
	ctx context.Context, author Author, target Target, level, n int, pair domain.Example, screen Screen, seed uint64,
) error {
	ask := author.Questions
	if level == 2 {
		ask = author.Instructions
	}
	b.Counts.Asked++
	items, answered, err := ask(ctx, screen, n, seed)
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
		made, err := target.example(it, level, pair, screen, domain.Seed(seed, "row", i))
		if err != nil {
			return err
		}
		if made.dropped == "" && level == 2 {
			made.dropped = limit.exceeded(*it.Action)
		}
		if made.dropped != "" {
			b.Drop(made.dropped)

			continue
		}
		kind := it.Kind
		if level == 2 {
			kind = it.Action.Type
		}
		b.Keep(made.pair, kind, made.messages)
	}

	return nil
}

// endings counts the instructions of a screen that end an episode.
type endings struct{ complete, answers int }

// exceeded counts an action and returns why it is dropped, if so.
func (e *endings) exceeded(action domain.Action) string {
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
