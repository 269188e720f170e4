package experiment_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/collabui/collabui/internal/experiment"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/workers/catalog"
)

const good = `
name: try
about: a test
specification: s.yaml
seeds: 3
episodes: {test-seeds: 4}
arms:
  - {name: full}
  - {name: rft, set: {preference: rft, train.beta: 0.5}}
  - {name: one, set: {agents: 1, rounds: 1, decoding.temperatures: "[0.2]"}}
contrasts:
  - of: full/trained
    minus: full/base
    split: test-seeds
    primary: true
    claim: gain
    margin: 3
    expected: 5
    spread: 4
  - {of: full/trained, minus: full/trained-shuffled, split: test-seeds}
  - {of: rft/trained-alone, minus: full/imitation, split: test-seeds}
`

// parse parses the text of an experiment whose specification contains only a name.
func parse(text string) (experiment.Experiment, error) {
	read := func(path string) ([]byte, error) {
		if path != "/x/s.yaml" {
			return nil, fmt.Errorf("there is no %s", path)
		}

		return []byte("name: base\nslots: 50\n"), nil
	}

	return experiment.Parse(spec.Source{Name: "x.yaml", Dir: "/x"}, []byte(text), read, catalog.All{})
}

func TestParseReadsAnExperiment(t *testing.T) {
	x, err := parse(good)
	if err != nil {
		t.Fatal(err)
	}
	s, err := x.Of("rft", 2, catalog.All{})
	if err != nil || s.Name != "try-rft-s2" || s.Seed != 2 || s.Preference != "rft" || s.Train.Beta != 0.5 ||
		s.Slots != 50 || s.Evaluation.TestSeeds != 0 {
		t.Errorf("Of(rft, 2) = %+v, %v, want the specification with the arm's values, and no tests", s, err)
	}
	if one, err := x.Of("one", 1, catalog.All{}); err != nil || one.Agents != 1 {
		t.Errorf("Of(one) has %d agents, %v, want 1", one.Agents, err)
	}

	first, second := x.Plays("full")
	if got := fmt.Sprint(first, second); got != "[full/trained on test-seeds full/base on test-seeds "+
		"full/imitation on test-seeds] [full/trained-shuffled on test-seeds]" {
		t.Errorf("full plays %s, want each system once, and what reads others last", got)
	}
	if !x.Imitates("full") || x.Imitates("rft") {
		t.Errorf("Imitates is %v for full and %v for rft, want true and false", x.Imitates("full"), x.Imitates("rft"))
	}
	if p, ok := x.Power(x.Contrasts[0]); !ok || math.Abs(p-0.3) > 0.15 {
		t.Errorf("Power = %v, %v, want that of 5 points with a spread of 4 over 3 seeds", p, ok)
	}
	if _, ok := x.Power(x.Contrasts[1]); ok {
		t.Error("a contrast that expects nothing has a power, want none")
	}
}

// TestSystemsThatReadOthersPlayLast also checks that the systems that they read play although no contrast names them.
func TestSystemsThatReadOthersPlayLast(t *testing.T) {
	for way, want := range map[string]string{
		"shuffled": "[full/trained on test-seeds full/base-whole on test-seeds] [full/trained-shuffled on test-seeds]",
		"liar":     "[full/trained on test-seeds full/base-whole on test-seeds] [full/trained-liar on test-seeds]",
	} {
		x := experiment.Experiment{Contrasts: []experiment.Contrast{
			{Of: "full/trained-" + way, Minus: "full/base-whole", Split: "test-seeds"},
		}}
		first, second := x.Plays("full")
		if got := fmt.Sprint(first, second); got != want {
			t.Errorf("full plays %s, want %s", got, want)
		}
	}
}

func TestArmsShareWhatTheyHaveEqual(t *testing.T) {
	x, err := parse(strings.Replace(good, "contrasts:", `  - {name: strong, like: one, set: {finetune.stop_low: 0.5}}
contrasts:`, 1))
	if err != nil {
		t.Fatal(err)
	}
	x.Arms[0].Set = map[string]string{"train.ftx": "0.5"}
	for arm, want := range map[string]experiment.Shares{
		"rft": experiment.SharesRun, "one": experiment.SharesBase, "strong": experiment.SharesNothing,
	} {
		s, err := x.Of(arm, 1, catalog.All{})
		if err != nil {
			t.Fatal(err)
		}
		got, keys := x.Shares(arm, s)
		if _, ok := keys["train.ftx"]; got != want || !ok {
			t.Errorf("Shares(%s) = %v, %v, want %v and the key that only the first arm sets", arm, got, keys, want)
		}
	}
}

func TestImpossibleExperimentsAreRefused(t *testing.T) {
	for change, want := range map[string]string{
		"seeds: 3>seeds: 1":                        "x.yaml:5:8: seeds: expected a whole number from 2 to 99",
		"{test-seeds: 4}>{somewhere: 4}":           "episodes.somewhere: expected one of",
		"name: rft>name: full":                     "every name once",
		"preference: rft>seed: 4":                  "which the experiment sets itself",
		"full/base>none/base":                      "ARM/SYSTEM with an arm of [full rft one]",
		"full/base>full/best":                      "a system that there is",
		"claim: gain>claim: wins":                  "a claim of [equal gain no-gain not-worse]",
		"test-seeds\n    primary>val\n    primary": "a split that has episodes",
		"about: a test>about: ''":                  "about: expected what",
		"s.yaml>t.yaml":                            "there is no /x/t.yaml",
		"train.beta: 0.5>train.beta: -1":           "arm rft: train.beta: expected",
		"train.beta: 0.5>nothing.like: 1":          "arm rft: nothing",
		"full/imitation>one/trained-silent":        "a single agent has no other way",
		"full/imitation>full/trained-agent4":       "there are agents 0 to 3",
		"seeds: 3>seeds: 3\nmore: 1":               "unknown key",
		"name: rft,>name: rft, from: full,":        "set.epochs, the number of further epochs",
		"name: rft,>name: rft, from: one,":         "an arm before rft",
		"{test-seeds: 4}>{here.: 4}":               "episodes.here.",
	} {
		old, replaced, _ := strings.Cut(change, ">")
		_, err := parse(strings.Replace(good, old, replaced, 1))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: Parse = %v, want an error with %q", change, err, want)
		}
	}
}

func TestSplitsOfOtherEnvironments(t *testing.T) {
	elsewhere := func(name string) error {
		text := strings.Replace(good, "test-seeds: 4", "test-seeds: 4, "+name+".all: 9", 1)
		_, err := parse(strings.Replace(text, "split: test-seeds}", "split: "+name+".all}", 1))

		return err
	}
	if err := elsewhere("webtasks"); err != nil {
		t.Errorf("Parse = %v, want no error", err)
	}
	if err := elsewhere("nowhere"); err == nil || !strings.Contains(err.Error(), "nowhere.all") ||
		!strings.Contains(err.Error(), "under environments") {
		t.Errorf("Parse = %v, want an error that names the split and what there is", err)
	}
}

func TestTheExamplesArePossibleExperiments(t *testing.T) {
	files, _ := filepath.Glob("../../examples/experiments/*.yaml")
	large, _ := filepath.Glob("../../examples/experiments/7b/*.yaml")
	if len(files) == 0 || len(large) == 0 {
		t.Errorf("got the examples %v and %v, want some of both", files, large)
	}
	files = append(append(files, large...), "../../examples/experiments/elsewhere/extension.yaml",
		"../../examples/experiments/agents/agents.yaml",
		"../../examples/experiments/small/production-small.yaml")
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err == nil {
			src := spec.Source{Name: f, Dir: filepath.Dir(f)}
			_, err = experiment.Parse(src, raw, os.ReadFile, catalog.All{})
		}
		if err != nil {
			t.Errorf("%s: %v, want no error", f, err)
		}
	}
}

// episodes returns n episodes of two templates, of which the first k are successes.
func episodes(n, k int) []experiment.Episode {
	var out []experiment.Episode
	for i := range n {
		e := experiment.Episode{Template: []string{"a", "b"}[i%2]}
		if i < k {
			e.Success = 1
		}
		out = append(out, e)
	}

	return out
}

func TestContrastsAreTestedOverSeeds(t *testing.T) {
	x, err := parse(good)
	if err != nil {
		t.Fatal(err)
	}
	played := map[string][][]experiment.Episode{
		"full/trained on test-seeds":          {episodes(10, 6), episodes(10, 7), episodes(10, 5)},
		"full/base on test-seeds":             {episodes(10, 3), episodes(10, 3), episodes(10, 3)},
		"full/trained-shuffled on test-seeds": {episodes(10, 6), episodes(10, 6), episodes(10, 6)},
		"rft/trained-alone on test-seeds":     {episodes(10, 4), episodes(10, 4), episodes(10, 4)},
		"full/imitation on test-seeds":        {episodes(10, 4), episodes(10, 4), episodes(10, 3)},
	}
	played["full/base on test-seeds"][2][0].Missing = true // neither system is scored there

	rows := x.Test(func(p experiment.Play) [][]experiment.Episode { return played[p.String()] })
	one := rows[0]
	if want := []float64{30, 40, 100 * 2.0 / 9}; !slices.EqualFunc(one.Seeds, want, near) || !near(one.Mean, 830.0/27) {
		t.Errorf("the first row is %+v, want the differences %v", one, want)
	}
	if !one.Holds || one.Verdict() != "holds: gains at least 3 points, lower bound above 0" || one.Adjusted != one.P {
		t.Errorf("the first row is %+v, want a claim that holds, and a primary contrast that is not adjusted", one)
	}
	if rows[1].Adjusted < rows[1].P || rows[2].Adjusted < rows[2].P || !rows[1].Holds || rows[1].Verdict() != "" {
		t.Errorf("the others are %+v, want larger p-values, and nothing claimed", rows[1:])
	}
	if one.WideLow > one.Mean || one.WideHigh < one.Mean || one.WideHigh-one.WideLow < 1 {
		t.Errorf("over templates, too, it is [%v, %v], want an interval around %v", one.WideLow, one.WideHigh, one.Mean)
	}
}

func near(a, b float64) bool { return math.Abs(a-b) < 1e-9 }

func TestClaimsHoldOnlyWhereTheIntervalShowsIt(t *testing.T) {
	for name, c := range map[string]struct {
		differences []int // by seed, how many more of 100 episodes succeed
		holds       []experiment.Claim
	}{
		"a gain": {[]int{10, 11, 12}, []experiment.Claim{experiment.ClaimGain, experiment.ClaimNotWorse}},
		"a small gain": {[]int{2, 2, 2}, []experiment.Claim{
			experiment.ClaimEqual, experiment.ClaimNoGain, experiment.ClaimNotWorse,
		}},
		"a wide gain": {[]int{0, 10, 40}, nil},
		"nothing": {[]int{0, 0, 0}, []experiment.Claim{
			experiment.ClaimEqual, experiment.ClaimNoGain, experiment.ClaimNotWorse,
		}},
		"a loss":         {[]int{-10, -11, -12}, []experiment.Claim{experiment.ClaimNoGain}},
		"noise around 0": {[]int{-30, 0, 30}, nil},
	} {
		for _, claim := range experiment.Claims() {
			x := experiment.Experiment{Contrasts: []experiment.Contrast{{
				Of: "a/trained", Minus: "a/base", Split: "val", Claim: claim, Margin: 3,
			}}}
			row := x.Test(func(p experiment.Play) [][]experiment.Episode {
				var out [][]experiment.Episode
				for _, d := range c.differences {
					k := 50
					if p.Kind.Of == "trained" {
						k += d
					}
					out = append(out, episodes(100, k))
				}

				return out
			})[0]
			if want := slices.Contains(c.holds, claim); row.Holds != want {
				t.Errorf("%s: %s holds on %.1f [%.1f, %.1f]: %v, want %v",
					name, claim, row.Mean, row.Low, row.High, row.Holds, want)
			}
		}
	}
}

func TestFiguresAreByTemplateAndSeed(t *testing.T) {
	one := []experiment.Episode{
		{Template: "a", Success: 1}, {Template: "a", Success: 1}, {Template: "a", Success: 1}, {Template: "a"},
		{Template: "b", False: true}, {Template: "b", Success: 1}, {Template: "b", Missing: true, False: true},
	}
	got := experiment.FiguresOf([][]experiment.Episode{one})
	// a: 3 of 4, so two are right in 3 of 6 pairs and four never are; b: 1 of 2, and never two.
	if want := []float64{(0.75 + 0.5) / 2, (0.5 + 0) / 2, 0}; !slices.Equal(got.Pass, want) {
		t.Errorf("Pass = %v, want %v", got.Pass, want)
	}
	// Of two episodes of a, at least one is right always; of b, too: one of its two is.
	if want := []float64{(0.75 + 0.5) / 2, 1, 1}; !slices.EqualFunc(got.PassAt, want, near) {
		t.Errorf("PassAt = %v, want %v", got.PassAt, want)
	}
	rare := slices.Repeat([]experiment.Episode{{Template: "a"}}, 5)
	rare[2].Success = 1
	// Of five episodes with one success, a pair has it in 4 of 10 cases, and four have it in 4 of 5.
	passAt := experiment.FiguresOf([][]experiment.Episode{rare}).PassAt
	if want := []float64{0.2, 0.4, 0.8}; !slices.EqualFunc(passAt, want, near) {
		t.Errorf("PassAt = %v, want %v", passAt, want)
	}
	if want := 1.0 / 6; got.FalseCompletes != want {
		t.Errorf("FalseCompletes = %v, want %v", got.FalseCompletes, want)
	}
	if got.Entropy != nil {
		t.Errorf("Entropy = %v without decisions, want none", *got.Entropy)
	}
	one[0].Decisions, one[0].Entropy, one[1].Decisions, one[1].Entropy = 3, 1.2, 1, 0.4
	one[6].Decisions, one[6].Entropy = 9, 9 // missing
	if got := experiment.FiguresOf([][]experiment.Episode{one}).Entropy; got == nil || !near(*got, 0.4) {
		t.Errorf("Entropy = %v, want 0.4, the mean over the decisions that count", got)
	}
	if got := experiment.FiguresOf(nil); len(got.Pass) != 0 || got.FalseCompletes != 0 {
		t.Errorf("FiguresOf nothing = %+v, want nothing", got)
	}
	if got := experiment.FiguresOf([][]experiment.Episode{one[3:5]}); len(got.Pass) != 1 {
		t.Errorf("Pass of one episode per template = %v, want no more than pass^1", got.Pass)
	}
}

func TestAContrastOnOneTemplateHasStudentsIntervalOnly(t *testing.T) {
	x := experiment.Experiment{Contrasts: []experiment.Contrast{{Of: "a/trained", Minus: "a/base", Split: "val"}}}
	row := x.Test(func(p experiment.Play) [][]experiment.Episode {
		one := []experiment.Episode{{Template: "a", Success: 1}, {Template: "a"}}
		if p.Kind.Of == "base" {
			one[0].Success = 0
		}

		return [][]experiment.Episode{one, {{Template: "a"}, {Template: "a"}}}
	})[0]
	if row.WideLow != row.Low || row.WideHigh != row.High || math.IsNaN(row.WideLow) {
		t.Errorf("the row is %+v, want equal intervals", row)
	}
}

// TestSeedsAreNoDrawsOfSystemsWithoutARun expects that seeds count as one draw for systems that do not depend on a run,
// because such systems are the same with every seed.
func TestSeedsAreNoDrawsOfSystemsWithoutARun(t *testing.T) {
	play := func(of string, templates ...string) []experiment.Row {
		x := experiment.Experiment{Contrasts: []experiment.Contrast{
			{Of: of, Minus: "a/guide-plain", Split: "val", Claim: experiment.ClaimGain},
			{Of: "a/trained", Minus: "a/base", Split: "val"},
		}}

		return x.Test(func(p experiment.Play) [][]experiment.Episode {
			var out []experiment.Episode
			for _, name := range templates {
				e := experiment.Episode{Template: name}
				if "a/"+p.Kind.String() == of {
					e.Success = 1
				}
				out = append(out, e)
			}
			other := slices.Clone(out) // a server may answer a seed's requests a little differently
			if p.Kind.String() == "trained" {
				other[0].Success = 1 - other[0].Success
			}

			return [][]experiment.Episode{out, other, out}
		})
	}

	rows := play("a/guide-t3a", "a", "b")
	if r := rows[0]; !r.Repeated || r.P != 1 || r.Adjusted != 1 || r.Low != r.WideLow || r.High != r.WideHigh {
		t.Errorf("two agents of a model give %+v, want the interval over templates and no test", r)
	}
	if r := rows[1]; r.Repeated || r.Adjusted != r.P {
		t.Errorf("trained beside them gives %+v, want a p-value that is adjusted for one test", r)
	}
	if r := play("a/guide-t3a", "a")[0]; r.Low != -100 || r.High != 100 || r.Holds {
		t.Errorf("one template gives %+v, want nothing excluded", r)
	}
	if r := play("a/trained", "a", "b")[0]; r.Repeated || r.P == 1 {
		t.Errorf("a trained system gives %+v, want Student's interval and p", r)
	}
}
