package verify

import (
	"context"
	"fmt"
	"slices"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/credit"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
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

// read reads the stored objects of a slot. A failed slot has no steps, labels or pairs.
func (v *validator) read(ctx context.Context, epoch int, slotRefs runs.SlotRefs) (parts slotParts, err error) {
	if parts.attempts, err = v.run.Attempts(ctx, v.b, epoch, slotRefs.Slot); err != nil {
		return parts, err
	}
	parts.episode, parts.episodeRef, err = store.Must[runs.Episode](ctx, v.b, slotRefs.Episode.Key)
	if err != nil || parts.episode.Failed != "" {
		return parts, err
	}
	if parts.steps, err = parts.episode.ReadSteps(ctx, v.b); err != nil {
		return parts, err
	}
	if parts.credits, _, err = store.Must[runs.Credits](ctx, v.b, slotRefs.Credit.Key); err != nil {
		return parts, err
	}
	parts.pairs, _, err = store.Must[runs.Pairs](ctx, v.b, slotRefs.Pairs.Key)
	parts.digest = runs.StepsDigest(parts.steps)
	for _, pair := range parts.pairs.Pairs {
		parts.prints = append(parts.prints, printOf(pair))
	}

	return parts, err
}

// slot checks a committed slot and adds its part of the epoch's digest: exactly one attempt has an episode, and labels
// and pairs belong to it.
func (v *validator) slot(epoch runs.Epoch, refs runs.SlotRefs, p slotParts, parts *runs.EpochParts) error {
	v.attempts(p.attempts, refs)
	ep := p.episode
	if !p.episodeRef.Same(refs.Episode) || ep.Slot.Number != refs.Slot || ep.Slot.Epoch != epoch.Number {
		v.say(refs.Episode.Key, "is not the episode that epoch %d committed for slot %d", epoch.Number, refs.Slot)
	}
	if !ep.Topology.Same(epoch.Topology) {
		v.say(refs.Episode.Key, "was played on another topology than the epoch's")
	}
	if ep.System != v.played.Version {
		v.say(refs.Episode.Key, "was played by system version %d, not %d", ep.System, v.played.Version)
	}
	if ep.Failed == "" {
		v.episode(p, refs)
	}
	parts.Episodes = append(parts.Episodes, ep.Digest)
	parts.Labels = append(parts.Labels, p.credits.Steps)

	return parts.AddPairs(p.pairs.Pairs)
}

// attempts checks that one attempt at a slot is not void. Failed ones that a person had played again do not count.
func (v *validator) attempts(attempts []runs.Episode, slotRefs runs.SlotRefs) {
	episodes := 0
	last := 0
	for _, episode := range attempts {
		last = max(last, episode.Attempt)
	}
	for _, a := range attempts {
		if a.Void == "" && (a.Failed == "" || a.Attempt == last) {
			episodes++
		}
	}
	if episodes != 1 {
		v.say(slotRefs.Episode.Key, "slot %d has %d episodes instead of one", slotRefs.Slot, episodes)
	}
}

// episode checks the steps, labels and pairs of a slot's episode.
func (v *validator) episode(parts slotParts, slotRefs runs.SlotRefs) {
	if parts.digest != parts.episode.Digest {
		v.say(slotRefs.Episode.Key, "its digest does not follow from its steps")
	}
	if !parts.credits.Episode.Same(slotRefs.Episode) {
		v.say(slotRefs.Credit.Key, "labels another episode")
	}
	if !parts.pairs.Episode.Same(slotRefs.Episode) || !parts.pairs.Credit.Same(slotRefs.Credit) {
		v.say(slotRefs.Pairs.Key, "was made of another episode or of other labels")
	}
	for i, pair := range parts.pairs.Pairs {
		if why := traces(pair, parts, v.reading); why != "" {
			v.say(slotRefs.Pairs.Key, "pair %d (agent %d, step %d): %s", i, pair.Agent, pair.Step, why)
		}
	}
}

// labelled is a step's cells with their labels.
type labelled struct {
	cells  []domain.Cell
	labels []domain.Label

	effects []domain.Effect
}

// instead reports whether an answer with a label was an alternative to a pass that satisfies fits.
func (l labelled) instead(text string, want domain.Label, fits func(domain.Cell) bool) bool {
	isIt := func(alternative domain.Alternative) bool {
		return alternative.Text == text && alternative.Label == want
	}

	return slices.ContainsFunc(l.effects, func(effect domain.Effect) bool {
		return effect.Cell < len(l.cells) && fits(l.cells[effect.Cell]) && slices.ContainsFunc(effect.Instead, isIt)
	})
}

// has reports whether a cell has the text and the label, and satisfies fits.
func (l labelled) has(text string, want domain.Label, fits func(domain.Cell) bool) bool {
	for i, cell := range l.cells {
		if l.labels[i] == want && cell.Text == text && fits(cell) {
			return true
		}
	}

	return false
}

// tracesSample returns why a sample does not follow from its step.
func tracesSample(pair domain.Example, step labelled, reading credit.Reading) string {
	for i, a := range credit.Advantages(step.cells, step.labels, reading) {
		cell := step.cells[i]
		if cell.Agent == pair.Agent && cell.Round == pair.Round {
			if cell.Prompt != pair.Prompt || cell.Text != pair.Chosen || a != pair.Advantage || pair.Rejected != "" {
				return "is not the agent's cell of that round with its advantage"
			}

			return ""
		}
	}

	return "no such cell"
}

// traces returns why a pair does not follow from the cells, labels and calls of its slot, or "" if it does.
func traces(pair domain.Example, parts slotParts, reading credit.Reading) string {
	steps := parts.steps
	credits := parts.credits.Steps
	if pair.Step < 1 || pair.Step > len(steps) || len(credits) != len(steps) {
		return "no such step"
	}
	step := labelled{
		cells: steps[pair.Step-1].Decision.Cells, labels: credits[pair.Step-1].Labels,
		effects: credits[pair.Step-1].Effects,
	}
	if len(step.labels) != len(step.cells) {
		return fmt.Sprintf("%d labels for %d cells", len(step.labels), len(step.cells))
	}
	if pair.Source == domain.SourceGroup {
		return tracesSample(pair, step, reading)
	}
	own := func(cell domain.Cell) bool {
		return cell.Agent == pair.Agent && cell.Round == pair.Round && cell.Prompt == pair.Prompt
	}
	anyone := func(domain.Cell) bool { return true }

	switch pair.Source {
	case domain.SourceCorrection, domain.SourceResist, domain.SourceInstead:
		switch {
		case pair.Source == domain.SourceInstead && !step.instead(pair.Chosen, domain.Positive, own):
			return "chosen is no alternative to the agent's pass that helps"
		case pair.Source != domain.SourceInstead && !step.has(pair.Chosen, domain.Positive, anyone):
			return "chosen is not a cell labelled 1"
		case !step.has(pair.Rejected, domain.Negative, own):
			return "rejected is not the agent's own cell labelled 0"
		}

		return ""
	}
	if !step.has(pair.Chosen, domain.Positive, own) {
		return "chosen is not the agent's cell labelled 1"
	}

	switch pair.Source {
	case domain.SourceAdversary:
		proposed := func(call runs.Call) bool {
			return call.Step == pair.Step && call.Agent == pair.Agent && slices.Contains(call.Texts, pair.Rejected)
		}
		if !slices.ContainsFunc(parts.pairs.Calls, proposed) && !step.instead(pair.Rejected, domain.Negative, own) {
			return "rejected is in no recorded call of the adversary"
		}
	case domain.SourceOwn, domain.SourcePeer:
		if !step.has(pair.Rejected, domain.Negative, anyone) {
			return "rejected is not a cell labelled 0"
		}
	case domain.SourceNone:
		if pair.Rejected != "" {
			return "it has a rejected answer, and its source says that it has none"
		}
	case domain.SourceOther:
	default:
		return fmt.Sprintf("unknown source %q", pair.Source)
	}

	return ""
}
