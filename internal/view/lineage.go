package view

import (
	"context"
	"fmt"

	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/records/runs"
)

// ancestor is a step on the way to a system: an epoch, a fork, or stage 1.
type ancestor struct {
	Kind   string `json:"kind"`
	Text   string `json:"text"`
	Digest string `json:"digest,omitempty"`
}

// lineage returns the ancestors of the system that represents a run, newest first. The last one began with a base
// policy.
func (l *Library) lineage(ctx context.Context, name string) ([]ancestor, error) {
	run := runs.Run(name)
	out := []ancestor{}
	based, err := run.Base().Exists(ctx, l.Bucket)
	if err != nil || !based {
		return out, err
	}
	epoch, err := run.Chosen(ctx, l.Bucket)
	if err != nil {
		return out, err
	}

	for {
		origin, forked, err := run.Origin().May(ctx, l.Bucket)
		if err != nil {
			return out, err
		}
		for ; epoch > origin.Epoch; epoch-- {
			a, err := l.ancestralEpoch(ctx, run, epoch)
			if err != nil {
				return out, err
			}
			out = append(out, a)
		}
		if !forked {
			a, err := l.ancestralBase(ctx, run)

			return append(out, a), err
		}
		text := fmt.Sprintf("%s is a fork of %s after epoch %d, by %s", run, origin.Run, origin.Epoch, origin.Who)
		for _, key := range origin.Values.Keys() {
			text += fmt.Sprintf("; %s=%s", key, origin.Values[key])
		}
		if origin.Why != "" {
			text += ": " + origin.Why
		}
		out = append(out, ancestor{Kind: "fork", Text: text})
		run = runs.Run(origin.Run)
	}
}

// ancestralEpoch describes an epoch of a run.
func (l *Library) ancestralEpoch(ctx context.Context, run runs.Run, epoch int) (ancestor, error) {
	e, _, err := run.Epoch(epoch).Must(ctx, l.Bucket)
	if err != nil {
		return ancestor{}, err
	}
	specification, err := run.At(ctx, l.Bucket, epoch)
	if err != nil {
		return ancestor{}, err
	}
	text := fmt.Sprintf("epoch %d of %s on %s, %d pairs, critic %s", epoch, run, specification.Environment, e.Pairs,
		rules.CriticName(specification, l.Catalog))
	if e.Val != nil {
		text += fmt.Sprintf(", val %.1f %%", 100*e.Val.Rate)
	}
	if e.Kept != "" {
		text += "; its system was not taken: " + e.Kept
	}

	return ancestor{Kind: "epoch", Text: text, Digest: e.Digest}, nil
}

// ancestralBase describes stage 1 of a run.
func (l *Library) ancestralBase(ctx context.Context, run runs.Run) (ancestor, error) {
	specification, err := run.Find(ctx, l.Bucket)
	if err != nil {
		return ancestor{}, err
	}
	levels, err := run.Levels(ctx, l.Bucket)
	text := fmt.Sprintf("stage 1 of %s on %s", run, specification.Environment)
	for _, set := range levels {
		text += fmt.Sprintf(", level %d: %d rows", set.Card.Level, set.Card.Rows)
	}
	switch {
	case specification.FineTune.Base != "":
		text += ", from the policy " + specification.FineTune.Base
	case len(levels) == 0:
		text += fmt.Sprintf(", %d demonstrations", specification.FineTune.Demonstrations)
	}

	return ancestor{Kind: "stage 1", Text: text}, err
}
