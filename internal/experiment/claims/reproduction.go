package claims

import (
	"context"
	"errors"
	"fmt"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/store/runs"
)

// comparison is a difference between two systems on a split.
type comparison struct {
	this, that string
	split      string
	must       *condition
}

// comparisons are the claims of the quickstart, then the differences that are shown with them.
func comparisons(s spec.Spec) []comparison {
	const (
		seeds  = domain.SplitTestSeeds
		held   = domain.SplitTestTemplates
		apps   = domain.SplitTestApps
		single = "base-1"
		alone  = rules.NameAlone
		votes  = rules.NameVotes
	)
	base, trained := rules.BaseName(s.Agents), rules.TrainedName(s.Agents)
	imitation := ImitationName(s.Agents)

	return []comparison{
		{this: trained, that: base, split: seeds, must: gains(3)},
		{this: alone, that: single, split: seeds, must: gains(3)}, // training without voting
		{this: trained, that: single, split: seeds, must: gains(10)},
		{this: trained, that: base, split: held, must: notWorse(3)},
		{this: trained, that: imitation, split: seeds},
		{this: trained, that: imitation, split: held},
		{this: imitation, that: base, split: seeds},
		{this: votes, that: single, split: seeds, must: equal(3)}, // voting adds nothing to the base policy
		{this: base, that: single, split: seeds},
		{this: trained, that: alone, split: seeds},
		{this: trained, that: single, split: held},
		{this: trained, that: base, split: apps},
		{this: trained, that: imitation, split: apps},
		{this: trained, that: single, split: apps},
	}
}

// optional reports whether a result may be absent: few environments have the split test-apps.
func (c comparison) optional() bool { return c.split == domain.SplitTestApps }

// ImitationName returns the name of the imitation control of n agents.
func ImitationName(n int) string { return fmt.Sprintf("%s-%d", rules.NameImitation, n) }

// Key returns the key of a system on a split in the rates of a reproduction.
func Key(system, split string) string { return system + "/" + split }

// ReadResults reads the results of one seed's reproduction that the claims compare.
func ReadResults(ctx context.Context, b store.Bucket, s spec.Spec) (Results, error) {
	results := Results{}
	for _, x := range comparisons(s) {
		for _, system := range []string{x.this, x.that} {
			id := rules.EvalID(rules.ReproduceFolder, system, x.split)
			result, _, err := runs.Run(s.Name).Result(id).Read(ctx, b)
			if x.optional() && errors.Is(err, store.ErrNotFound) {
				continue
			}
			if err != nil {
				return nil, err
			}
			results[Key(system, x.split)] = result
		}
	}

	return results, nil
}

// Test tests the claims of the quickstart on the rates of at least two seeds. Comparisons on test-apps are left out if
// it was not played.
func Test(seeds []Rates, s spec.Spec) []Claim {
	var claims []Claim
	for _, x := range comparisons(s) {
		if _, ok := seeds[0][Key(x.this, x.split)]; !ok && x.optional() {
			continue
		}
		differences := make([]float64, len(seeds))
		for k, rates := range seeds {
			differences[k] = 100 * (rates[Key(x.this, x.split)] - rates[Key(x.that, x.split)])
		}
		name := fmt.Sprintf("%s − %s on %s", x.this, x.that, x.split)
		claims = append(claims, test(name, differences, x.must))
	}

	return claims
}

// Decoding describes how the systems of a reproduction decode.
func Decoding(s spec.Spec) string {
	return fmt.Sprintf(
		"n=%d m=%d temperatures %v top_p %v; base-1 and %s: the better of greedy and temperature 0.2 on val, one round",
		s.Agents, s.Rounds, s.Temperatures(), s.Decoding.TopP, rules.NameAlone)
}
