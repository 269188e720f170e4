// Package experiment has the rules of experiments: what a file declares beforehand, what is played for it, and how its
// contrasts are tested. Its functions are pure.
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

// Experiment compares systems of variants of one specification, its arms, over seeds. All systems play the same
// episodes.
type Experiment struct {
	Name  string `json:"name"`
	About string `json:"about"`

	Spec     spec.Spec      `json:"spec"`     // what all arms change
	Seeds    int            `json:"seeds"`    // 1 to Seeds
	Episodes map[string]int `json:"episodes"` // that every system plays per seed, by split

	Arms      []Arm      `json:"arms"` // others share with the first what they have equal
	Contrasts []Contrast `json:"contrasts"`
}

// Arm is a variant of the specification.
type Arm struct {
	Name string            `json:"name"`
	Like string            `json:"like,omitempty"` // an arm before it, whose values it has, too
	Set  map[string]string `json:"set,omitempty"`  // other values, in YAML by key; those of Like among them once parsed

	// From is an arm before it whose best system it trains further, with its policies, its topology and its values. The
	// number of epochs in Set is that of further ones.
	From string `json:"from,omitempty"`
}

// Contrast is a difference between two systems on a split, in points: Of − Minus.
type Contrast struct {
	Of    string `json:"of"` // ARM/SYSTEM
	Minus string `json:"minus"`
	Split string `json:"split"` // or ENVIRONMENT.SPLIT, where that is another environment than that of the arms

	// Primary is what the experiment is made for. The p-values of all others are adjusted for their number (Holm).
	Primary bool `json:"primary,omitempty"`

	// Claim says what must hold; empty claims nothing. Margin is its bound in points.
	Claim  Claim   `json:"claim,omitempty"`
	Margin float64 `json:"margin,omitempty"`

	// Expected is the difference that is expected, and Spread the standard deviation over seeds, both in points: the
	// power of the test follows from them. 0 means that nobody said.
	Expected float64 `json:"expected,omitempty"`
	Spread   float64 `json:"spread,omitempty"`
}

// Play is a system of an arm on a split.
type Play struct {
	Arm   string
	Kind  rules.SystemKind
	Split string // as in Contrast
}

// Elsewhere returns the environment and the split of SPLIT or ENVIRONMENT.SPLIT. The environment is empty where it is
// that of the arm.
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

// sides returns both systems of a contrast that was checked.
func (c Contrast) sides() (of, minus Play) {
	return play(c.Of, c.Split), play(c.Minus, c.Split)
}

func play(text, split string) Play {
	arm, system, _ := strings.Cut(text, "/")
	kind, _ := rules.ParseSystemKind(system)

	return Play{Arm: arm, Kind: kind, Split: split}
}

// Plays returns what an arm plays for all contrasts, each once, in two stages: systems that read the messages of others
// play after those.
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

// Imitates reports whether an arm has a system that imitates: its control must be trained.
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

// Of returns the specification of the run of an arm and a seed. It plays no tests of its own: the experiment does.
func (x Experiment) Of(arm string, seed int, catalog spec.Catalog) (spec.Spec, error) {
	given := x.Spec
	given.Name = x.Run(arm, seed)
	given.Seed = uint64(seed)
	given.Evaluation = given.Evaluation.WithoutTests()
	given.Evaluation.OutOfDistribution = nil

	return given.Set(x.Arm(arm).Set, spec.Source{}, catalog)
}

// Shares says what the run of an arm takes over from that of the first one.
type Shares int

// What an arm takes over.
const (
	SharesNothing Shares = iota
	SharesBase           // the base policy: it trains no stage 1 of its own
	SharesRun            // it is a fork before the first epoch
)

// Shares returns what an arm with this specification takes over from the first one, and the keys that either of them
// sets. The arm is a fork if only values differ that a run can change; otherwise it has the same base policy if stage 1
// makes the same one whatever values these keys have.
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

// splits are those on which systems may be compared.
var splits = append(slices.Clone(domain.Splits), domain.SplitTestApps)
