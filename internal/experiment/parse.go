package experiment

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
)

// maxArms bounds the number of arms of an experiment, because each may repeat everything that another one sets.
const maxArms = 100

// file is an experiment in the form of its file.
type file struct {
	Name  string `json:"name"`
	About string `json:"about"`
	// Specification is the path of a file, relative to this one.
	Specification string         `json:"specification"`
	Seeds         int            `json:"seeds"`
	Episodes      map[string]int `json:"episodes"`
	Arms          []Arm          `json:"arms"`
	Contrasts     []Contrast     `json:"contrasts"`
}

// Parse decodes the file of an experiment. read returns the contents of the file of its specification, and of the
// prompt templates that it names, by their paths. The error lists all mistakes with their places.
func Parse(src spec.Source, raw []byte, read func(path string) ([]byte, error), c spec.Catalog) (Experiment, error) {
	f := file{Seeds: 6}
	if err := spec.Decode(src, raw, &f, func(must spec.Must) { f.check(must) }); err != nil {
		return Experiment{}, err
	}
	path := f.Specification
	if !filepath.IsAbs(path) {
		path = filepath.Join(src.Dir, path)
	}
	text, err := read(path)
	if err != nil {
		return Experiment{}, fault.New(fault.Invalid, "%s: specification: %w", src.Name, err)
	}
	specification, err := spec.Parse(spec.Source{Name: path, Dir: filepath.Dir(path), Read: read}, text, c)
	if err != nil {
		return Experiment{}, err
	}
	f.inherit()
	declared := Experiment{
		Name: f.Name, About: f.About, Spec: specification, Seeds: f.Seeds, Episodes: f.Episodes, Arms: f.Arms,
		Contrasts: f.Contrasts,
	}

	if err := declared.Validate(c); err != nil {
		return declared, fault.New(fault.Invalid, "%s: %w", src.Name, err)
	}

	return declared, nil
}

// inherit gives arms the values of the arms in their Like or From.
func (f file) inherit() {
	for i, arm := range f.Arms {
		k := slices.IndexFunc(f.Arms[:i], func(b Arm) bool { return b.Name == arm.Like || b.Name == arm.From })
		if k < 0 {
			continue
		}
		set := maps.Clone(f.Arms[k].Set)
		if set == nil {
			set = map[string]string{}
		}
		maps.Copy(set, arm.Set)
		f.Arms[i].Set = set
	}
}

// Validate returns an invalid fault if an arm is not a possible specification, or cannot have a system that a contrast
// names.
func (x Experiment) Validate(catalog spec.Catalog) error {
	var problems []string
	for _, arm := range x.Arms {
		specification, err := x.Of(arm.Name, 1, catalog)
		if err != nil {
			problems = append(problems, "arm "+arm.Name+": "+err.Error())
			continue
		}
		if x.Imitates(arm.Name) {
			if err := specification.CheckImitation(catalog); err != nil {
				problems = append(problems, "arm "+arm.Name+": "+err.Error())
			}
		}
		first, second := x.Plays(arm.Name)
		for _, p := range append(first, second...) {
			if environment, _ := Elsewhere(p.Split); environment != "" {
				other := spec.Elsewhere{Environment: environment, Split: p.Split}
				specification.Evaluation.OutOfDistribution = []spec.Elsewhere{other}
				if err := specification.Validate(catalog); err != nil {
					problems = append(problems, "arm "+arm.Name+": "+p.Split+": "+err.Error())
				}
			}
			_, err := p.Kind.System(specification, make([]string, specification.Agents))
			if err == nil && p.Kind.Learnt() && specification.Epochs == 0 {
				err = fault.New(fault.Invalid, "%s: the arm trains no epochs", p.Kind)
			}
			if err != nil {
				problems = append(problems, "arm "+arm.Name+": "+err.Error())
			}
		}
	}
	if len(problems) > 0 {
		return fault.New(fault.Invalid, "%s", strings.Join(problems, "\n"))
	}

	return nil
}

// check reports impossible values.
func (f file) check(must spec.Must) {
	must.Name(f.Name, "name")
	must(len(f.Name) <= 20, "name", "at most 20 characters, as runs are named after it")
	must(f.About != "", "about", "what the experiment is made for, in a sentence")
	must(f.Specification != "", "specification", "the path of a specification")
	must(f.Seeds >= 2 && f.Seeds <= 99, "seeds", "a whole number from 2 to 99, not %d", f.Seeds)
	for _, split := range slices.Sorted(maps.Keys(f.Episodes)) {
		n := f.Episodes[split]
		environment, name := Elsewhere(split)
		must(slices.Contains(splits, name) || environment != "" && name != "", "episodes."+split,
			"one of %s, or ENVIRONMENT.SPLIT", strings.Join(splits, ", "))
		must(n >= 2 && n <= 9999, "episodes."+split, "a whole number from 2 to 9999, not %d", n)
	}
	must(len(f.Arms) > 0 && len(f.Arms) <= maxArms, "arms", "1 to %d arms, not %d", maxArms, len(f.Arms))
	var names []string
	for _, a := range f.Arms {
		must.Name(a.Name, "arms")
		must(len(a.Name) <= 14, "arms", "names of at most 14 characters, as runs are named after them, not %q", a.Name)
		must(!slices.Contains(names, a.Name), "arms", "every name once, not %q again", a.Name)
		must(a.Like == "" || slices.Contains(names, a.Like), "arms", "an arm before %s, not %q", a.Name, a.Like)
		must(a.From == "" || slices.Contains(names, a.From), "arms", "an arm before %s, not %q", a.Name, a.From)
		must(a.From == "" || a.Like == "" && a.Set["epochs"] != "", "arms",
			"set.epochs, the number of further epochs, and no like where an arm says from, as %s does", a.Name)
		for _, key := range []string{"name", "seed"} {
			_, taken := a.Set[key]
			must(!taken, "arms", "other keys of %s than %s, which the experiment sets itself", a.Name, key)
		}
		names = append(names, a.Name)
	}
	f.checkContrasts(names, must)
}

func (f file) checkContrasts(arms []string, must spec.Must) {
	must(len(f.Contrasts) > 0, "contrasts", "at least one contrast")
	primary := 0
	seen := []string{}
	for _, c := range f.Contrasts {
		for _, side := range []string{c.Of, c.Minus} {
			arm, system, _ := strings.Cut(side, "/")
			_, err := rules.ParseSystemKind(system)
			must(slices.Contains(arms, arm), "contrasts", "ARM/SYSTEM with an arm of %v, not %q", arms, side)
			must(err == nil, "contrasts", "a system that there is, in %q: %v", side, err)
		}
		_, played := f.Episodes[c.Split]
		must(played, "contrasts", "a split that has episodes, not %q", c.Split)
		must(!slices.Contains(seen, c.String()), "contrasts", "every contrast once, not %s again", c)
		seen = append(seen, c.String())
		_, known := claims[c.Claim]
		must(known || c.Claim == "", "contrasts", "a claim of %v, not %q", Claims(), c.Claim)
		must(c.Margin >= 0 && c.Spread >= 0, "contrasts", "a margin and a spread from 0, in points, in %s", c)
		if c.Primary {
			primary++
		}
	}
	must(primary <= 1, "contrasts", "at most one that is primary, not %d", primary)
}
