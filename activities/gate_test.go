package activities

import (
	"context"
	"math"
	"strings"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/store/runs"
	"github.com/collabui/collabui/trainer"
)

// prober says what the test wants of every probe.
type prober struct {
	trainer.Trainer
	says domain.Probe
}

func (p prober) Probe(context.Context, string, string, string, []domain.Pair, uint64) (domain.Probe, error) {
	return p.says, nil
}

func TestABreachOfAnyGateKeepsTheParentAndSaysWhy(t *testing.T) {
	good := domain.Probe{KL: 1, ParseRate: 1, Length: 50, Entropy: 0.5, Actions: map[string]int{"click": 3}}
	pairs := []domain.Pair{{Chosen: `Reason: r Action: {"action_type":"click","index":1}`}, {Chosen: `Reason: r Action: {"action_type":"click","index":2}`}}
	s := spec.Default()
	s.Gates.MinEntropy = 0.1
	for want, change := range map[string]func(*domain.Probe){
		"":                             func(*domain.Probe) {},
		"KL to the parent 9.00":        func(p *domain.Probe) { p.KL = 9 },
		"chosen answers changed by -3": func(p *domain.Probe) { p.LogprobDelta = -3 },
		"90 % of sampled":              func(p *domain.Probe) { p.ParseRate = 0.9 },
		"have 500 characters":          func(p *domain.Probe) { p.Length = 500 },
		"entropy 0.010":                func(p *domain.Probe) { p.Entropy = 0.01 },
		"no sampled answer is click, 100 % of the chosen": func(p *domain.Probe) { p.Actions = map[string]int{"status": 3} },
		"not numbers": func(p *domain.Probe) { p.KLBase = math.NaN() },
	} {
		p := good
		change(&p)
		u, err := (&GPU{&Deps{Trainers: map[string]trainer.Trainer{spec.Embedded: prober{says: p}}}}).gate(t.Context(), s, runs.Update{Parent: runs.Policy{Digest: "old"}, Policy: runs.Policy{Digest: "new"}}, pairs, "base")
		if err != nil || !strings.Contains(u.Kept, want) || (u.Policy.Digest == "old") != (want != "") || (want == "") != (u.Kept == "") {
			t.Errorf("%q: %+v %v", want, u, err)
		}
	}
}
