package verify

import (
	"context"
	"slices"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/synth"
	"github.com/collabui/collabui/internal/records/runs"
)

// level checks the data set of a level of stage 1: its counters add up, and it holds exactly the items that were
// recorded for it, without duplicates.
func (v *validator) level(ctx context.Context, n int) error {
	key := v.run.Level(n).Key
	set, needed, err := v.run.Level(n).Sure(ctx, v.b)
	if err != nil || !needed {
		return err
	}
	if why := set.Card.Counts.Problem(); why != "" {
		v.say(key, "the card's counters do not add up: %s", why)
	}

	got, ok, err := v.pairs(ctx, key, set.Body)
	if err != nil || !ok {
		return err
	}
	if set.Card.Rows != len(got) {
		v.say(key, "the card says %d rows, the body has %d", set.Card.Rows, len(got))
	}
	if set.Card.Imported != "" {
		return nil
	}

	want, counts, err := v.items(ctx, n)
	if err != nil {
		return err
	}
	if !slices.Equal(got, want) {
		v.say(key, "does not hold the rows that were recorded for it")
	}
	if runs.Digest(counts) != runs.Digest(set.Card.Counts) {
		v.say(key, "the card's counters are not those of the recorded items")
	}

	return nil
}

// items returns the pairs that a level must contain, and its counters.
func (v *validator) items(ctx context.Context, level int) ([]domain.Example, synth.ItemCounts, error) {
	counts := synth.NewItemCounts()
	plan, _, err := v.run.LevelPlan(level).Must(ctx, v.b)
	if err != nil {
		return nil, counts, err
	}

	counts.Add(plan.Counts)
	rows := []domain.Example{}
	for i := range v.spec.FineTune.Demonstrations {
		batch, _, err := v.run.Items(level, i).Must(ctx, v.b)
		if err != nil {
			return nil, counts, err
		}
		rows = append(rows, batch.Rows...)
		counts.Add(batch.Counts)
	}
	rows = synth.Dedupe(rows, &counts, func(pair domain.Example) string { return synth.KindOf(level, pair) })

	return rows, counts, nil
}
