package verify

import (
	"context"
	"fmt"
	"slices"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/credit"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/store/runs"
)

// slotParts is everything that is stored for a committed slot.
type slotParts struct {
	attempts   []runs.Episode
	episode    runs.Episode
	episodeRef store.Ref
	steps      []runs.Step
	credits    runs.Credits
	pairs      runs.Pairs

	digest string        // derived from the steps
	prints []fingerprint // of the pairs
}

// read reads what is stored for a slot. A failed slot has no steps, labels or pairs.
func (v *validator) read(ctx context.Context, epoch int, r runs.SlotRefs) (p slotParts, err error) {
	if p.attempts, err = v.run.Attempts(ctx, v.b, epoch, r.Slot); err != nil {
		return p, err
	}
	p.episode, p.episodeRef, err = store.Must[runs.Episode](ctx, v.b, r.Episode.Key)
	if err != nil || p.episode.Failed != "" {
		return p, err
	}
	if p.steps, err = p.episode.ReadSteps(ctx, v.b); err != nil {
		return p, err
	}
	if p.credits, _, err = store.Must[runs.Credits](ctx, v.b, r.Credit.Key); err != nil {
		return p, err
	}
	p.pairs, _, err = store.Must[runs.Pairs](ctx, v.b, r.Pairs.Key)
	p.digest = runs.StepsDigest(p.steps)
	for _, pair := range p.pairs.Pairs {
		p.prints = append(p.prints, printOf(pair))
	}

	return p, err
}

// slot checks a committed slot and adds its part of the epoch's digest: exactly one attempt has an episode, and labels
// and pairs belong to it.
func (v *validator) slot(e runs.Epoch, r runs.SlotRefs, p slotParts, parts *runs.EpochParts) error {
	v.attempts(p.attempts, r)
	ep := p.episode
	if !p.episodeRef.Same(r.Episode) || ep.Slot.Number != r.Slot || ep.Slot.Epoch != e.Number {
		v.say(r.Episode.Key, "is not the episode that epoch %d committed for slot %d", e.Number, r.Slot)
	}
	if !ep.Topology.Same(e.Topology) {
		v.say(r.Episode.Key, "was played on another topology than the epoch's")
	}
	if ep.System != v.played.Version {
		v.say(r.Episode.Key, "was played by system version %d, not %d", ep.System, v.played.Version)
	}
	if ep.Failed == "" {
		v.episode(p, r)
	}
	parts.Episodes = append(parts.Episodes, ep.Digest)
	parts.Labels = append(parts.Labels, p.credits.Steps)

	return parts.AddPairs(p.pairs.Pairs)
}

// attempts checks that one attempt at a slot is not void. Failed ones that a person had played again do not count.
func (v *validator) attempts(attempts []runs.Episode, r runs.SlotRefs) {
	episodes := 0
	last := 0
	for _, a := range attempts {
		last = max(last, a.Attempt)
	}
	for _, a := range attempts {
		if a.Void == "" && (a.Failed == "" || a.Attempt == last) {
			episodes++
		}
	}
	if episodes != 1 {
		v.say(r.Episode.Key, "slot %d has %d episodes instead of one", r.Slot, episodes)
	}
}

// episode checks the steps, labels and pairs of a slot's episode.
func (v *validator) episode(p slotParts, r runs.SlotRefs) {
	if p.digest != p.episode.Digest {
		v.say(r.Episode.Key, "its digest does not follow from its steps")
	}
	if !p.credits.Episode.Same(r.Episode) {
		v.say(r.Credit.Key, "labels another episode")
	}
	if !p.pairs.Episode.Same(r.Episode) || !p.pairs.Credit.Same(r.Credit) {
		v.say(r.Pairs.Key, "was made of another episode or of other labels")
	}
	for i, pair := range p.pairs.Pairs {
		if why := traces(pair, p.steps, p.credits.Steps, p.pairs.Calls); why != "" {
			v.say(r.Pairs.Key, "pair %d (agent %d, step %d): %s", i, pair.Agent, pair.Step, why)
		}
	}
}

// labelled is a step's cells with their labels.
type labelled struct {
	cells  []domain.Cell
	labels []domain.Label
}

// has reports whether a cell has the text and the label, and satisfies fits.
func (l labelled) has(text string, want domain.Label, fits func(domain.Cell) bool) bool {
	for i, c := range l.cells {
		if l.labels[i] == want && c.Text == text && fits(c) {
			return true
		}
	}

	return false
}

// tracesSample returns why a sample does not follow from its step.
func tracesSample(p domain.Pair, step labelled) string {
	for i, a := range credit.Advantages(step.labels) {
		c := step.cells[i]
		if c.Agent == p.Agent && c.Round == p.Round {
			if c.Prompt != p.Prompt || c.Text != p.Chosen || a != p.Advantage || p.Rejected != "" {
				return "is not the agent's cell of that round with its advantage"
			}

			return ""
		}
	}

	return "no such cell"
}

// traces returns why a pair does not follow from its cells, labels and calls, or "" if it does.
func traces(p domain.Pair, steps []runs.Step, credits []domain.Credit, calls []runs.Call) string {
	if p.Step < 1 || p.Step > len(steps) || len(credits) != len(steps) {
		return "no such step"
	}
	step := labelled{cells: steps[p.Step-1].Decision.Cells, labels: credits[p.Step-1].Labels}
	if len(step.labels) != len(step.cells) {
		return fmt.Sprintf("%d labels for %d cells", len(step.labels), len(step.cells))
	}
	if p.Source == domain.SourceGroup {
		return tracesSample(p, step)
	}
	own := func(c domain.Cell) bool { return c.Agent == p.Agent && c.Round == p.Round && c.Prompt == p.Prompt }
	anyone := func(domain.Cell) bool { return true }

	if p.Source == domain.SourceCorrection {
		switch {
		case !step.has(p.Chosen, domain.Positive, anyone):
			return "chosen is not a cell labelled 1"
		case !step.has(p.Rejected, domain.Negative, own):
			return "rejected is not the agent's own cell labelled 0"
		}

		return ""
	}
	if !step.has(p.Chosen, domain.Positive, own) {
		return "chosen is not the agent's cell labelled 1"
	}

	switch p.Source {
	case domain.SourceAdversary:
		proposed := func(c runs.Call) bool {
			return c.Step == p.Step && c.Agent == p.Agent && slices.Contains(c.Texts, p.Rejected)
		}
		if !slices.ContainsFunc(calls, proposed) {
			return "rejected is in no recorded call of the adversary"
		}
	case domain.SourceOwn, domain.SourcePeer:
		if !step.has(p.Rejected, domain.Negative, anyone) {
			return "rejected is not a cell labelled 0"
		}
	case domain.SourceNone:
		if p.Rejected != "" {
			return "it has a rejected answer, and its source says that it has none"
		}
	case domain.SourceOther:
	default:
		return fmt.Sprintf("unknown source %q", p.Source)
	}

	return ""
}
