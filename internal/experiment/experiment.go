// Package experiment contains the rules of experiments: what a file declares beforehand, which systems play for it, and
// how its contrasts are tested. Its functions are pure.
//
// It does no I/O.
package experiment

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
)

// Experiment compares systems of several arms, which are variants of one specification, over seeds. All systems play
// the same episodes.
type Experiment struct {
	Name  string `json:"name"`
	About string `json:"about"`

	Spec     spec.Spec      `json:"spec"`     // the specification that all arms change
	Seeds    int            `json:"seeds"`    // the seeds are 1 to Seeds
	Episodes map[string]int `json:"episodes"` // by split, how many every system plays per seed

	Arms      []Arm      `json:"arms"` // all share the equal parts of the first one's run
	Contrasts []Contrast `json:"contrasts"`
}

// Arm is a variant of the specification.
type Arm struct {
	Name string            `json:"name"`
	Like string            `json:"like,omitempty"` // an earlier arm, whose values this arm also has
	Set  map[string]string `json:"set,omitempty"`  // other values, in YAML by key; once parsed, with those of Like

	// From is an earlier arm. This arm trains its best system further, with its policies, topology and values. The
	// number of epochs in Set counts the further epochs.
	From string `json:"from,omitempty"`
}

// Contrast is a difference between two systems on a split, in points: Of − Minus.
type Contrast struct {
	Of    string `json:"of"` // ARM/SYSTEM
	Minus string `json:"minus"`
	Split string `json:"split"` // or ENVIRONMENT.SPLIT, for another environment than the arms' own

	// Primary marks the contrast for which the experiment is made. The p-values of all others are adjusted for their
	// number (Holm).
	Primary bool `json:"primary,omitempty"`

	// Claim is the condition that must hold; if empty, nothing is claimed. Margin is its bound in points.
	Claim  Claim   `json:"claim,omitempty"`
	Margin float64 `json:"margin,omitempty"`

	// Expected is the expected difference, and Spread its standard deviation over seeds, both in points. They determine
	// the power of the test. 0 means that they were not given.
	Expected float64 `json:"expected,omitempty"`
	Spread   float64 `json:"spread,omitempty"`
}

// Play is a system of an arm on a split.
type Play struct {
	Arm   string
	Kind  rules.SystemKind
	Split string // as in Contrast
}

// Elsewhere returns the environment and the split of SPLIT or ENVIRONMENT.SPLIT. environment is empty for the arm's own
// environment.
func Elsewhere(split string) (environment, name string) {
	if at := strings.LastIndexByte(split, '.'); at >= 0 {
		return split[:at], split[at+1:]
	}

	return "", split
}

// String returns ARM/SYSTEM on SPLIT.
func (p Play) String() string { return fmt.Sprintf("%s/%s on %s", p.Arm, p.Kind, p.Split) }

// String returns OF − MINUS on SPLIT, which identifies the contrast.
func (c Contrast) String() string { return c.Of + " − " + c.Minus + " on " + c.Split }

// sides returns both systems of a contrast that has been checked.
func (c Contrast) sides() (of, minus Play) {
	return play(c.Of, c.Split), play(c.Minus, c.Split)
}

func play(text, split string) Play {
	arm, system, _ := strings.Cut(text, "/")
	kind, _ := rules.ParseSystemKind(system)

	return Play{Arm: arm, Kind: kind, Split: split}
}

// Plays returns the systems that an arm plays for all contrasts, without duplicates, in two stages: systems that read
// the messages of others play after those others.
func (x Experiment) Plays(arm string) (first, second []Play) {
	add := func(to *[]Play, p Play) {
		if !slices.Contains(*to, p) {
			*to = append(*to, p)
		}
	}
	for _, contrast := range x.Contrasts {
		of, minus := contrast.sides()
		for _, p := range []Play{of, minus} {
			if p.Arm != arm {
				continue
			}
			if donor, ok := p.Kind.Donor(); ok {
				add(&first, Play{Arm: arm, Kind: donor, Split: p.Split})
				add(&second, p)
			} else {
				add(&first, p)
			}
		}
	}

	return first, second
}

// Imitates reports whether an arm has a system that imitates, so that its control must be trained.
func (x Experiment) Imitates(arm string) bool {
	first, second := x.Plays(arm)

	return slices.ContainsFunc(append(first, second...), func(p Play) bool { return p.Kind.Of == rules.OfImitation })
}

// Arm returns an arm by its name.
func (x Experiment) Arm(name string) Arm {
	i := slices.IndexFunc(x.Arms, func(arm Arm) bool { return arm.Name == name })

	return x.Arms[i]
}

// Run returns the name of the run of an arm and a seed.
func (x Experiment) Run(arm string, seed int) string {
	return fmt.Sprintf("%s-%s-s%d", x.Name, arm, seed)
}

// Of returns the specification of the run of an arm and a seed. The run plays no tests, because the experiment does.
func (x Experiment) Of(arm string, seed int, catalog spec.Catalog) (spec.Spec, error) {
	specification := x.Spec
	specification.Name = x.Run(arm, seed)
	specification.Seed = uint64(seed)
	specification.Evaluation = specification.Evaluation.WithoutTests()
	specification.Evaluation.OutOfDistribution = nil

	return specification.Set(x.Arm(arm).Set, spec.Source{}, catalog)
}

// Shares is the part of the first arm's run that the run of another arm takes over.
type Shares int

// The parts that an arm can take over.
const (
	SharesNothing Shares = iota
	SharesBase           // the base policy: it trains no stage 1 of its own
	SharesRun            // everything before the first epoch: it is a fork of the run
)

// Shares returns the part of the first arm's run that an arm with this specification takes over, and the keys that
// either of them sets. The arm is a fork if the specifications differ only in keys that a run can change. Otherwise it
// shares the base policy if stage 1 makes the same policy regardless of these keys.
func (x Experiment) Shares(arm string, specification spec.Spec) (Shares, map[string]string) {
	differ := map[string]string{}
	maps.Copy(differ, x.Arm(arm).Set)
	maps.Copy(differ, x.Arms[0].Set)
	if specification.Changeable(differ) {
		return SharesRun, differ
	}
	base := maps.Clone(differ)
	delete(base, "agents")
	if specification.Changeable(base) {
		return SharesBase, differ
	}

	return SharesNothing, differ
}

// splits are the splits on which systems may be compared.
var splits = append(slices.Clone(domain.Splits), domain.SplitTestApps)
