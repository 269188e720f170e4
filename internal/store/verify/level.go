package verify

import (
	"encoding/json"
	"errors"
	"slices"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/synth"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/store/runs"
)

// level checks the data set of a level of stage 1: its counters add up, and it holds exactly the items that were recorded for it, without duplicates.
func (v *validator) level(n int) error {
	key := runs.Run(v.run).Level(n).Key
	set, _, err := store.Read[runs.LevelSet](v.ctx, v.b, key)
	if errors.Is(err, store.ErrNotFound) {
		return nil // of no optimiser steps: no stage asked for it
	}
	if err != nil {
		return err
	}
	if why := set.Card.Counts.Problem(); why != "" {
		v.say(key, "the card's counters do not add up: %s", why)
	}
	raw, err := store.GetBlob(v.ctx, v.b, set.Body.SHA256)
	if err != nil {
		return err
	}
	var got []domain.Pair
	if err := json.Unmarshal(raw, &got); err != nil {
		v.say(key, "its body is no list of rows: %v", err)
		return nil
	}
	if set.Card.Rows != len(got) {
		v.say(key, "the card says %d rows, the body has %d", set.Card.Rows, len(got))
	}
	if set.Card.Imported != "" {
		return nil
	}
	plan, _, err := runs.Run(v.run).LevelPlan(n).Read(v.ctx, v.b)
	if err != nil {
		return err
	}
	want, sum := []domain.Pair{}, synth.NewItemCounts()
	sum.Add(plan.Counts)
	for i := range v.spec.FineTune.Demonstrations {
		b, _, err := runs.Run(v.run).Items(n, i).Read(v.ctx, v.b)
		if err != nil {
			return err
		}
		want = append(want, b.Rows...)
		sum.Add(b.Counts)
	}
	want = synth.Dedupe(want, &sum, func(p domain.Pair) string { return synth.KindOf(n, p) })
	if !slices.Equal(got, want) {
		v.say(key, "does not hold the rows that were recorded for it")
	}
	if runs.Digest(sum) != runs.Digest(set.Card.Counts) {
		v.say(key, "the card's counters are not those of the recorded items")
	}
	return nil
}
