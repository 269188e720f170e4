package verify

import (
	"slices"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/store/runs"
)

// epoch checks a committed epoch and makes its system the one that rolls out next.
func (v *validator) epoch(e runs.Epoch) error {
	key := v.run.Epoch(e.Number).Key
	slots, _, err := store.Read[runs.Slots](v.ctx, v.b, e.Slots.Key)
	if err != nil {
		return err
	}
	topology, _, err := store.Read[domain.Topology](v.ctx, v.b, e.Topology.Key)
	if err != nil {
		return err
	}
	if _, err := topology.Order(); err != nil {
		v.say(e.Topology.Key, "%v", err)
	}
	if !slices.Equal(slots.System.Policies, v.system.Policies) || slots.System.Version != v.system.Version {
		v.say(e.Slots.Key, "the slots were rolled out by another system than the one that epoch %d committed",
			e.Number-1)
	}
	if len(e.Episodes) != len(slots.Slots) {
		v.say(key, "%d slots are committed of %d planned", len(e.Episodes), len(slots.Slots))
	}

	parts := runs.EpochParts{Parent: v.digest, Topology: topology, Slots: slots.Slots, Kept: e.Kept}
	seen := map[int]bool{}
	for _, r := range e.Episodes {
		if seen[r.Slot] {
			v.say(key, "slot %d is committed twice", r.Slot)
		}
		seen[r.Slot] = true
		if err := v.slot(e, r, &parts); err != nil {
			return err
		}
	}
	v.past = append(v.past, slices.Concat(parts.Pairs...))
	v.past = v.past[max(0, len(v.past)-1-v.spec.Pairs.MaxAge):]
	if err := v.updates(e, &parts); err != nil {
		return err
	}

	if d := runs.Digest(parts); d != e.Digest {
		v.say(key, "the digest %s does not follow from what is stored (%s)", e.Digest, d)
	}
	if e.Kept != "" && (e.System.Version != v.system.Version || !slices.Equal(e.System.Policies, v.system.Policies)) {
		v.say(key, "kept the system that rolled out but names another one")
	}
	v.system, v.digest = e.System, e.Digest

	return nil
}

// updates checks that each agent was updated once, from the policy that rolled out, on exactly its pairs.
func (v *validator) updates(e runs.Epoch, parts *runs.EpochParts) error {
	if len(e.Updates) != v.spec.Agents {
		v.say(v.run.Epoch(e.Number).Key, "%d updates for %d agents", len(e.Updates), v.spec.Agents)
	}
	for a, r := range e.Updates {
		u, _, err := store.Read[runs.Update](v.ctx, v.b, r.Key)
		if err != nil {
			return err
		}
		if u.Agent != a || r.Key != v.run.Update(e.Number, a).Key {
			v.say(r.Key, "is committed for agent %d but is agent %d's", a, u.Agent)
		}
		if a < len(v.system.Policies) && u.Parent != v.system.Policies[a] {
			v.say(r.Key, "was applied to another policy than the one that rolled out: applied twice, or out of order")
		}
		if e.Kept == "" && (a >= len(e.System.Policies) || e.System.Policies[a] != u.Policy) {
			v.say(r.Key, "is not what the epoch committed for agent %d", a)
		}
		if u.Kept != "" && u.Policy != u.Parent {
			v.say(r.Key, "kept its parent but names another policy")
		}

		if err := v.dataset(u.Dataset.Key, v.owned(a)); err != nil {
			return err
		}
		parts.Tensors = append(parts.Tensors, u.Policy.Tensor)
	}

	return nil
}

// owned returns the pairs on which an agent is trained in the newest epoch.
func (v *validator) owned(agent int) []domain.Pair {
	var out []domain.Pair
	for k, pairs := range v.past {
		for _, p := range pairs {
			if p.Agent == agent || v.spec.Parameters == spec.ParametersShared {
				p.Age = len(v.past) - 1 - k
				out = append(out, p)
			}
		}
	}

	return out
}

// dataset checks that a data set holds exactly the given pairs. Weights are not compared: they follow from the pairs.
func (v *validator) dataset(key string, want []domain.Pair) error {
	d, _, err := store.Read[runs.Dataset](v.ctx, v.b, key)
	if err != nil {
		return err
	}
	got, ok, err := v.pairs(key, d.Body)
	if err != nil || !ok {
		return err
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
