package verify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/store/runs"
)

// Run checks every committed epoch of a run: that every slot is committed once or recorded as failed, that no update is applied twice, that every pair
// traces to a labelled cell, a topology and a system version, and that the digests follow from what is stored.
func Run(ctx context.Context, b store.Bucket, run string) ([]Problem, error) {
	s, _, err := runs.Run(run).Spec().Read(ctx, b)
	if err != nil {
		return nil, err
	}
	base, _, err := runs.Run(run).Base().Read(ctx, b)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil // nothing is committed yet
	}
	if err != nil {
		return nil, err
	}
	v := &validator{ctx: ctx, b: b, run: run, spec: s, digest: base.Policy.Tensor}
	for _, level := range s.FineTune.Levels {
		if err := v.level(level); err != nil {
			return v.problems, err
		}
	}
	for range s.Agents {
		v.policies = append(v.policies, base.Policy)
	}
	for k := 1; k <= s.Epochs; k++ {
		e, _, err := runs.Run(run).Epoch(k).Read(ctx, b)
		if errors.Is(err, store.ErrNotFound) {
			break
		}
		if err != nil {
			return v.problems, err
		}
		if err := v.epoch(e); err != nil {
			return v.problems, err
		}
	}
	return v.problems, v.end()
}

type validator struct {
	ctx      context.Context
	b        store.Bucket
	run      string
	spec     spec.Spec
	policies []runs.Policy // of the system that rolls out in the epoch
	digest   string        // of the epoch before
	problems []Problem
}

func (v *validator) say(key, format string, args ...any) {
	v.problems = append(v.problems, Problem{key, fmt.Sprintf(format, args...)})
}

func (v *validator) epoch(e runs.Epoch) error {
	key := runs.Run(v.run).Epoch(e.Number).Key
	slots, _, err := store.Read[runs.Slots](v.ctx, v.b, e.Slots.Key)
	if err != nil {
		return err
	}
	topo, _, err := store.Read[domain.Topology](v.ctx, v.b, e.Topology.Key)
	if err != nil {
		return err
	}
	if _, err := topo.Order(); err != nil {
		v.say(e.Topology.Key, "%v", err)
	}
	if !slices.Equal(slots.System.Policies, v.policies) || slots.System.Version != e.Number-1 {
		v.say(e.Slots.Key, "the slots were rolled out by another system than the one that epoch %d committed", e.Number-1)
	}
	parts := runs.EpochParts{Parent: v.digest, Topology: topo, Slots: slots.Slots}
	if len(e.Episodes) != len(slots.Slots) {
		v.say(key, "%d slots are committed of %d planned", len(e.Episodes), len(slots.Slots))
	}
	seen := map[int]bool{}
	var pairs []domain.Pair
	for _, r := range e.Episodes {
		if seen[r.Slot] {
			v.say(key, "slot %d is committed twice", r.Slot)
		}
		seen[r.Slot] = true
		ps, err := v.slot(e, r, &parts)
		if err != nil {
			return err
		}
		pairs = append(pairs, ps...)
	}
	if err := v.updates(e, pairs, &parts); err != nil {
		return err
	}
	if d := runs.Digest(parts); d != e.Digest {
		v.say(key, "the digest %s does not follow from what is stored (%s)", e.Digest, d)
	}
	v.policies, v.digest = e.System.Policies, e.Digest
	return nil
}

// slot checks one slot: exactly one attempt has an episode, the others are void; labels and pairs belong to it.
func (v *validator) slot(e runs.Epoch, r runs.SlotRefs, parts *runs.EpochParts) ([]domain.Pair, error) {
	objects, err := v.b.List(v.ctx, runs.Run(v.run).EpisodePrefix(e.Number, r.Slot))
	if err != nil {
		return nil, err
	}
	episodes := 0
	for _, o := range objects {
		if !strings.HasSuffix(o.Key, "/episode.json") {
			continue
		}
		end, _, err := store.Read[runs.Episode](v.ctx, v.b, o.Key)
		if err != nil {
			return nil, err
		}
		if end.Void == "" {
			episodes++
		}
	}
	if episodes != 1 {
		v.say(r.Episode.Key, "slot %d has %d episodes instead of one", r.Slot, episodes)
	}
	ep, ref, err := store.Read[runs.Episode](v.ctx, v.b, r.Episode.Key)
	if err != nil {
		return nil, err
	}
	if ref != r.Episode || ep.Slot.Number != r.Slot || ep.Slot.Epoch != e.Number {
		v.say(r.Episode.Key, "is not the episode that epoch %d committed for slot %d", e.Number, r.Slot)
	}
	if ep.Topology != e.Topology {
		v.say(r.Episode.Key, "was played on another topology than the epoch's")
	}
	if ep.System != e.Number-1 {
		v.say(r.Episode.Key, "was played by system version %d, not %d", ep.System, e.Number-1)
	}
	parts.Episodes = append(parts.Episodes, ep.Digest)
	if ep.Failed != "" {
		parts.Labels, parts.Pairs = append(parts.Labels, nil), append(parts.Pairs, nil)
		return nil, nil
	}
	var steps []runs.Step
	for _, s := range ep.Steps {
		st, _, err := store.Read[runs.Step](v.ctx, v.b, s.Key)
		if err != nil {
			return nil, err
		}
		steps = append(steps, st)
	}
	if d := runs.StepsDigest(steps); d != ep.Digest {
		v.say(r.Episode.Key, "its digest does not follow from its steps")
	}
	cr, _, err := store.Read[runs.Credits](v.ctx, v.b, r.Credit.Key)
	if err != nil {
		return nil, err
	}
	if cr.Episode != r.Episode {
		v.say(r.Credit.Key, "labels another episode")
	}
	ps, _, err := store.Read[runs.Pairs](v.ctx, v.b, r.Pairs.Key)
	if err != nil {
		return nil, err
	}
	if ps.Episode != r.Episode || ps.Credit != r.Credit {
		v.say(r.Pairs.Key, "was made of another episode or of other labels")
	}
	for i, p := range ps.Pairs {
		if why := traces(p, steps, cr, ps.Calls); why != "" {
			v.say(r.Pairs.Key, "pair %d (agent %d, step %d): %s", i, p.Agent, p.Step, why)
		}
	}
	parts.Labels, parts.Pairs = append(parts.Labels, cr.Steps), append(parts.Pairs, ps.Pairs)
	return ps.Pairs, nil
}

// traces says why a pair does not follow from the cells, labels and calls that it must be made of; empty means that it does.
func traces(p domain.Pair, steps []runs.Step, cr runs.Credits, calls []runs.Call) string {
	if p.Step < 1 || p.Step > len(steps) || len(cr.Steps) != len(steps) {
		return "no such step"
	}
	cells, labels := steps[p.Step-1].Decision.Cells, cr.Steps[p.Step-1].Labels
	if len(labels) != len(cells) {
		return fmt.Sprintf("%d labels for %d cells", len(labels), len(cells))
	}
	cell := func(text string, want domain.Label, fits func(domain.Cell) bool) bool {
		for i, c := range cells {
			if labels[i] == want && c.Text == text && fits(c) {
				return true
			}
		}
		return false
	}
	own := func(c domain.Cell) bool { return c.Agent == p.Agent && c.Round == p.Round && c.Prompt == p.Prompt }
	any := func(domain.Cell) bool { return true }
	if p.Source == domain.SourceCorrection {
		switch {
		case !cell(p.Chosen, domain.Positive, any):
			return "chosen is no cell labelled 1"
		case !cell(p.Rejected, domain.Negative, own):
			return "rejected is not the agent's own cell labelled 0"
		}
		return ""
	}
	if !cell(p.Chosen, domain.Positive, own) {
		return "chosen is not the agent's cell labelled 1"
	}
	switch p.Source {
	case domain.SourceAdversary:
		for _, c := range calls {
			if c.Step == p.Step && c.Agent == p.Agent && slices.Contains(c.Texts, p.Rejected) {
				return ""
			}
		}
		return "rejected stands in no recorded call of the adversary"
	case domain.SourceOwn, domain.SourcePeer:
		if !cell(p.Rejected, domain.Negative, any) {
			return "rejected is no cell labelled 0"
		}
	case domain.SourceOther, "none":
	default:
		return fmt.Sprintf("unknown source %q", p.Source)
	}
	return ""
}

// updates checks that each agent was updated once, from the policy that rolled out, on exactly its pairs.
func (v *validator) updates(e runs.Epoch, pairs []domain.Pair, parts *runs.EpochParts) error {
	if len(e.Updates) != v.spec.Agents {
		v.say(runs.Run(v.run).Epoch(e.Number).Key, "%d updates for %d agents", len(e.Updates), v.spec.Agents)
	}
	own := map[int][]domain.Pair{}
	for _, p := range pairs {
		for a := range v.spec.Agents {
			if a == p.Agent || v.spec.Parameters == spec.ParametersShared {
				own[a] = append(own[a], p)
			}
		}
	}
	for a, r := range e.Updates {
		u, _, err := store.Read[runs.Update](v.ctx, v.b, r.Key)
		if err != nil {
			return err
		}
		if u.Agent != a || r.Key != runs.Run(v.run).Update(e.Number, a).Key {
			v.say(r.Key, "stands for agent %d but is agent %d's", a, u.Agent)
		}
		if a < len(v.policies) && u.Parent != v.policies[a] {
			v.say(r.Key, "was applied to another policy than the one that rolled out: applied twice, or out of order")
		}
		if a >= len(e.System.Policies) || e.System.Policies[a] != u.Policy {
			v.say(r.Key, "is not what the epoch committed for agent %d", a)
		}
		if u.Kept != "" && u.Policy != u.Parent {
			v.say(r.Key, "kept its parent but names another policy")
		}
		d, _, err := store.Read[runs.Dataset](v.ctx, v.b, u.Dataset.Key)
		if err != nil {
			return err
		}
		if err := v.dataset(u.Dataset.Key, d, own[a]); err != nil {
			return err
		}
		parts.Tensors = append(parts.Tensors, u.Policy.Tensor)
	}
	return nil
}

// dataset checks that a data set holds exactly the pairs of the epoch's episodes; weights apart, which follow from them.
func (v *validator) dataset(key string, d runs.Dataset, want []domain.Pair) error {
	raw, err := store.GetBlob(v.ctx, v.b, d.Body.SHA256)
	if err != nil {
		return err
	}
	var got []domain.Pair
	if err := json.Unmarshal(raw, &got); err != nil {
		v.say(key, "its body is no list of pairs: %v", err)
		return nil
	}
	if d.Count != len(want) || len(got) != len(want) {
		v.say(key, "holds %d pairs and says %d, the epoch's episodes have %d", len(got), d.Count, len(want))
		return nil
	}
	for i := range got {
		got[i].Weight = want[i].Weight
		if got[i] != want[i] {
			v.say(key, "pair %d is not the one that the epoch's episodes have there", i)
			return nil
		}
	}
	return nil
}

func (v *validator) end() error {
	end, _, err := runs.Run(v.run).End().Read(v.ctx, v.b)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err == nil && end.FinalDigest != v.digest {
		v.say(runs.Run(v.run).End().Key, "the final digest is not that of the last epoch")
	}
	return err
}
