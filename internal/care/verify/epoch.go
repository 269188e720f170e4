package verify

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/credit"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
)

// epoch checks a committed epoch and makes its system the one that plays the next rollouts.
func (v *validator) epoch(ctx context.Context, e runs.Epoch) error {
	key := v.run.Epoch(e.Number).Key
	slots, _, err := store.Must[runs.Slots](ctx, v.b, e.Slots.Key)
	if err != nil {
		return err
	}
	topology, _, err := store.Must[domain.Topology](ctx, v.b, e.Topology.Key)
	if err != nil {
		return err
	}
	if _, err := topology.Order(); err != nil {
		v.say(e.Topology.Key, "%v", err)
	}
	v.reading = credit.Reading{Topology: topology, Reads: v.spec.Reads}
	v.played = v.system
	if v.spec.Staleness > 0 && e.Number > 1 {
		v.played = v.before
	}
	if !sameSystem(slots.System, v.played) {
		v.say(e.Slots.Key, "the slots were rolled out by another system than version %d", v.played.Version)
	}
	if len(e.Episodes) != len(slots.Slots) {
		v.say(key, "%d slots are committed of %d planned", len(e.Episodes), len(slots.Slots))
	}

	parts, err := runs.NewEpochParts()
	if err != nil {
		return err
	}
	defer parts.Close()
	parts.Parent = v.digest
	parts.Topology = topology
	parts.Slots = slots.Slots
	parts.Kept = e.Kept
	if err := v.slots(ctx, e, parts); err != nil {
		return err
	}
	if err := v.updates(ctx, e, parts); err != nil {
		return err
	}
	if err := v.val(ctx, e); err != nil {
		return err
	}

	d, err := parts.Digest()
	if err != nil {
		return err
	}
	if d != e.Digest {
		v.say(key, "the digest %s does not follow from what is stored (%s)", e.Digest, d)
	}
	if e.Kept != "" && !sameSystem(e.System, v.system) {
		v.say(key, "kept the system that its updates began with but names another one")
	}
	v.before = v.system
	v.system = e.System
	v.digest = e.Digest

	return nil
}

// val checks that an epoch whose system was evaluated on val was judged by that evaluation.
func (v *validator) val(ctx context.Context, e runs.Epoch) error {
	if e.Val != nil {
		return nil
	}
	id := rules.EvalID(rules.EpochFolder(e.Number), rules.TrainedName(v.spec.Agents), domain.SplitVal)
	_, evaluated, err := v.run.Result(id).Sure(ctx, v.b)
	if evaluated {
		v.say(v.run.Epoch(e.Number).Key, "its system was evaluated on val (%s), but it was committed as if it were not",
			v.run.Result(id).Key)
	}

	return err
}

// sameSystem reports whether two systems are one.
func sameSystem(system, b runs.System) bool {
	return system.Version == b.Version && slices.Equal(system.Policies, b.Policies)
}

// slots checks the committed slots of an epoch in order, and keeps the prints of their pairs.
func (v *validator) slots(ctx context.Context, epoch runs.Epoch, parts *runs.EpochParts) error {
	seen := map[int]bool{}
	v.prints = nil
	read := func(ctx context.Context, i int) (slotParts, error) {
		return v.read(ctx, epoch.Number, epoch.Episodes[i])
	}

	return store.InOrder(ctx, len(epoch.Episodes), read, func(i int, p slotParts) error {
		slotRefs := epoch.Episodes[i]
		if seen[slotRefs.Slot] {
			v.say(v.run.Epoch(epoch.Number).Key, "slot %d is committed twice", slotRefs.Slot)
		}
		seen[slotRefs.Slot] = true
		v.prints = append(v.prints, p.prints...)

		return v.slot(epoch, slotRefs, p, parts)
	})
}

// fingerprint is a pair in a few bytes, without its weight: an epoch may have more pairs than fit into memory.
type fingerprint struct {
	agent int
	sum   [16]byte
}

func printOf(pair domain.Example) fingerprint {
	pair.Weight = 0
	raw, _ := json.Marshal(pair) // plain values can always be encoded
	sum := sha256.Sum256(raw)

	return fingerprint{pair.Agent, [16]byte(sum[:16])}
}

// updates checks that each agent was updated once, from the policy that played the rollouts, on exactly its pairs.
func (v *validator) updates(ctx context.Context, epoch runs.Epoch, parts *runs.EpochParts) error {
	if len(epoch.Updates) != v.spec.Agents {
		v.say(v.run.Epoch(epoch.Number).Key, "%d updates for %d agents", len(epoch.Updates), v.spec.Agents)
	}
	var sets []string
	for a, ref := range epoch.Updates {
		update, _, err := store.Must[runs.Update](ctx, v.b, ref.Key)
		if err != nil {
			return err
		}
		if own := v.run.Update(epoch.Number, a).Key; update.Agent != a || below(ref.Key) != below(own) {
			v.say(ref.Key, "is committed for agent %d but is agent %d's", a, update.Agent)
		}
		if a < len(v.system.Policies) && update.Parent != v.system.Policies[a] {
			v.say(ref.Key, "was applied to another policy than the one that rolled out: applied twice, or out of order")
		}
		if epoch.Kept == "" && (a >= len(epoch.System.Policies) || epoch.System.Policies[a] != update.Policy) {
			v.say(ref.Key, "is not what the epoch committed for agent %d", a)
		}
		if update.Kept != "" && update.Policy != update.Parent {
			v.say(ref.Key, "kept its parent but names another policy")
		}
		if update.Served.Wide() {
			v.say(ref.Key, "names a policy that was served otherwise than it was trained")
		}

		sets = append(sets, update.Dataset.Key)
		parts.Tensors = append(parts.Tensors, update.Policy.Tensor)
	}

	return v.datasets(ctx, sets)
}

// datasets checks the data sets of all agents concurrently.
func (v *validator) datasets(ctx context.Context, keys []string) error {
	reasons := make([]string, len(keys))
	group, ctx := errgroup.WithContext(ctx)
	for agent, key := range keys {
		group.Go(func() (err error) {
			reasons[agent], err = v.dataset(ctx, key, v.owned(agent))

			return err
		})
	}
	err := group.Wait()
	for agent, why := range reasons {
		if why != "" {
			v.say(keys[agent], "%s", why)
		}
	}

	return err
}

// owned returns the pairs on which an agent is trained in the newest epoch.
func (v *validator) owned(agent int) []fingerprint {
	var out []fingerprint
	for _, p := range v.prints {
		if p.agent == agent || v.spec.Parameters == spec.ParametersShared {
			out = append(out, p)
		}
	}

	return out
}

// dataset returns why a data set does not hold exactly the given pairs, or "" if it does. Weights are not compared:
// they follow from the pairs.
func (v *validator) dataset(ctx context.Context, key string, want []fingerprint) (why string, err error) {
	d, _, err := store.Must[runs.Dataset](ctx, v.b, key)
	if err != nil {
		return "", err
	}
	n := 0
	firstWrong := -1
	err = runs.EachPair(ctx, v.b, d.Body, func(pair domain.Example) error {
		if firstWrong < 0 && n < len(want) && want[n] != printOf(pair) {
			firstWrong = n
		}
		n++

		return nil
	})
	switch {
	case fault.KindOf(err) == fault.Corrupt:
		return fmt.Sprintf("its body cannot be read: %v", err), nil
	case err != nil:
		return "", err
	case d.Count != len(want) || n != len(want):
		return fmt.Sprintf("holds %d pairs and says %d, the epoch's episodes have %d", n, d.Count, len(want)), nil
	case firstWrong >= 0:
		return fmt.Sprintf("pair %d is not the one that the epoch's episodes have there", firstWrong), nil
	}

	return "", nil
}
