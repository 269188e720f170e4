package spec

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/method/credit"
)

// Must reports what was expected of a field unless ok is true.
type Must func(ok bool, field, expected string, args ...any)

func (must Must) within(v float64, field string, lo, hi float64) {
	must(v >= lo && v <= hi, field, "a number from %v to %v, not %v", lo, hi, v)
}

func (must Must) count(v int, field string, lo, hi int) {
	must(v >= lo && v <= hi, field, "a whole number from %d to %d, not %d", lo, hi, v)
}

// amount checks an amount of money.
func (must Must) amount(v float64, field string) {
	must(v >= 0 && !math.IsInf(v, 1), field, "a finite number from 0, not %v", v)
}

func oneOf[T ~string](must Must, v T, field string, allowed ...T) {
	must(slices.Contains(allowed, v), field, "one of %s, not %q", List(allowed), v)
}

// List returns names with commas between them.
func List[T ~string](names []T) string {
	texts := make([]string, len(names))
	for i, name := range names {
		texts[i] = string(name)
	}

	return strings.Join(texts, ", ")
}

// problem describes an impossible value.
type problem struct{ field, expected string }

// runName matches names of runs, environments and models.
var runName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$`)

// IsName reports whether a text is a valid name of a run, an environment or a model.
func IsName(text string) bool { return runName.MatchString(text) }

// Validate returns an invalid fault for the first impossible value. It is for specifications that do not come from a
// file; Parse reports all impossible values.
func (s Spec) Validate(catalog Catalog) error {
	if problems := s.check(catalog); len(problems) > 0 {
		return fault.New(fault.Invalid, "%s: expected %s", problems[0].field, problems[0].expected)
	}

	return nil
}

// check returns all impossible values.
func (s Spec) check(catalog Catalog) []problem {
	var out []problem
	var must Must = func(ok bool, field, expected string, args ...any) {
		if !ok {
			out = append(out, problem{field, fmt.Sprintf(expected, args...)})
		}
	}
	s.checkAll(catalog, must)

	return out
}

// checkAll reports all impossible values.
func (s Spec) checkAll(catalog Catalog, must Must) {
	must(runName.MatchString(s.Name), "name", "1 to 40 lower-case letters, digits and dashes, not %q", s.Name)
	s.checkEnvironments(catalog, must)
	s.checkTrainer(catalog, must)
	s.checkLosses(catalog, must)
	s.checkGRPO(must)
	s.checkChoices(must)
	s.checkMethod(must)
	s.Focus.check(must)
	must.count(s.Window, "window", 0, 5000)
	s.checkModels(must)
	s.checkPrompts(must)
	s.checkRoles(must)
	s.checkObservation(catalog, must)

	checkTrain(s.Train, "train", must)
	checkTrain(s.FineTune.Train, "finetune.train", must)
	checkTrain(s.FineTune.Preference, "finetune.preference", must)
	must(s.Preference != PreferenceDPO || s.Train.Beta > 0, "train.beta", "a number above 0 for dpo")
	s.checkLevels(catalog, must)
	s.FineTune.check(must)
	s.Synthesis.check(must)
	s.Evaluation.check(must)
	s.checkURLs(must)
}

// credentials matches a URL with a user or a password.
var credentials = regexp.MustCompile(`\b[a-zA-Z][a-zA-Z0-9+.-]*://[^/?#\s]*@`)

// checkURLs refuses passwords in URLs of all fields, because a specification is stored, shown and part of histories.
func (s Spec) checkURLs(must Must) {
	raw, err := json.Marshal(s)
	if err != nil {
		return // what cannot be encoded cannot be stored
	}
	var all any
	if json.Unmarshal(raw, &all) == nil {
		walk(all, "", func(field, text string) {
			must(!credentials.MatchString(text), field,
				"a URL without a user and a password, which would be stored with the run; "+
					"for models, name an environment variable as key")
		})
	}
}

// walk calls f for every text in a decoded JSON value, in order, with the path to it.
func walk(value any, path string, f func(path, text string)) {
	at := func(name string) string { return strings.TrimPrefix(path+"."+name, ".") }
	switch v := value.(type) {
	case string:
		f(path, v)
	case []any:
		for i, x := range v {
			walk(x, at(strconv.Itoa(i)), f)
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			walk(v[name], at(name), f)
		}
	}
}

func (s Spec) checkChoices(must Must) {
	oneOf(must, s.Answers, "answers", agents.Usual, agents.Strict)
	oneOf(must, s.Views.Kind, "views.kind", agents.FullViews, agents.RegionViews, agents.DropoutViews)
	must.within(s.Views.Common, "views.common", 0, 1)
	oneOf(must, s.Reads, "reads", agents.ReadDAG, agents.ReadBack)
	oneOf(must, s.VoteScope, "vote_scope", agents.ScopeAll, agents.ScopeLast)
	oneOf(must, s.Edges, "edges", EdgesRandom, EdgesNone)
	oneOf(must, s.Parameters, "parameters", ParametersSeparate, ParametersShared)
	oneOf(must, s.Preference, "preference", PreferenceDPO, PreferenceRFT, PreferenceGRPO)
	oneOf(must, s.Credit, "credit", CreditCritic, CreditOutcome, CreditAdvantage)
	oneOf(must, s.Critic.Rule, "critic.rule", RuleRobust, RulePaper)
	oneOf(must, s.Critic.Scope, "critic.scope", ScopeStep, ScopeRound)
	oneOf(must, s.Pairs.Kind, "pairs.kind", PairsPositive, PairsCorrection, PairsResist)
	oneOf(must, s.Pairs.Cells, "pairs.cells",
		credit.LatestCells, credit.FirstCells, credit.UncertainCells, credit.ContradictedCells)
	oneOf(must, s.Reference, "reference", ReferenceBase, ReferenceEpochStart)
}

func checkTrain(p domain.TrainParams, field string, must Must) {
	must.within(p.LearningRate, field+".learning_rate", 1e-9, 1)
	must.within(p.Warmup, field+".warmup", 0, 1)
	must.within(p.FinalShare, field+".final_share", 0, 1)
	must.count(p.BatchSize, field+".batch_size", 1, 4096)
	must.count(p.Passes, field+".passes", 1, 1000)
	oneOf(must, p.Loss, field+".loss", "", domain.LossDPO, domain.LossNormalised, domain.LossPositive, domain.LossIPO)
	must.within(p.Beta, field+".beta", 0, 100)
	must.within(p.Smoothing, field+".smoothing", 0, 0.49)
	must.within(p.Ftx, field+".ftx", 0, 100)
	must.within(p.SFT, field+".sft", 0, 100)
	must.within(p.Clip, field+".clip", 0, 100)
	must.within(p.KL, field+".kl", 0, 100)
	must.within(p.WeightDecay, field+".weight_decay", 0, 1)
}
