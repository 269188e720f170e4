package spec

import "strings"

// Step is a part of an epoch. What a step records depends only on the records of the steps before it.
type Step int

// The steps of an epoch, in order.
const (
	StepPlan       Step = iota + 1 // topology and slots
	StepRollout                    // episodes
	StepCredit                     // labels
	StepPairs                      // preference pairs
	StepUpdate                     // data sets and policies
	StepEvaluation                 // on val
	StepCommit                     // the system that is kept
	StepTest                       // the evaluations at the end of the run
	StepNone                       // nothing that is recorded
)

var stepNames = [...]string{
	"", "topology and slots", "episodes", "labels", "pairs", "updates", "val", "commits", "tests", "nothing",
}

// String returns what the step records.
func (s Step) String() string { return stepNames[s] }

// Effect describes what depends on a key.
type Effect struct {
	First Step // the first step that depends on the key
	Plays bool // evaluations of all systems depend on it, too
}

// effects holds the effects of all keys that can be changed in a run. A key has the effect of its longest prefix in
// this table.
var effects = map[string]Effect{
	"environment":  {StepPlan, true},
	"environments": {StepPlan, true},
	"actions":      {StepPlan, true},
	"prompts":      {StepPlan, true},
	"models":       {StepPlan, true},
	"slots":        {StepPlan, false},
	"quarantine":   {StepPlan, false},
	"focus":        {StepPlan, false},
	"edges":        {StepPlan, false},
	"edge_update":  {StepPlan, false},
	"staleness":    {StepPlan, false},

	"rounds":      {StepRollout, true},
	"decoding":    {StepRollout, true},
	"answers":     {StepRollout, true},
	"views":       {StepRollout, true},
	"observation": {StepRollout, true},
	"speech":      {StepRollout, true},
	"reads":       {StepRollout, true},
	"vote_scope":  {StepRollout, true},
	"summariser":  {StepRollout, true},
	"prompt":      {StepRollout, true},

	"credit":              {StepCredit, false},
	"critic":              {StepCredit, false},
	"adversary":           {StepPairs, false},
	"pairs":               {StepPairs, false},
	"pairs.min_pairs":     {StepUpdate, false},
	"pairs.max_weight":    {StepUpdate, false},
	"pairs.balance_types": {StepUpdate, false},

	"parameters": {StepUpdate, false},
	"preference": {StepUpdate, false}, // but GRPO and RFT learn from other rows, see package fork
	"reference":  {StepUpdate, false},
	"train":      {StepUpdate, false}, // but see package fork on train.sft
	"trainer":    {StepUpdate, false},
	"gates":      {StepUpdate, false},

	"gates.max_val_drop": {StepCommit, false},

	"evaluation":       {StepTest, false},
	"evaluation.seed":  {StepEvaluation, true},
	"evaluation.val":   {StepEvaluation, false},
	"evaluation.every": {StepEvaluation, false},

	"labels":       {StepNone, false},
	"window":       {StepNone, false},
	"screenshots":  {StepNone, false},
	"budget":       {StepNone, false},
	"failed_share": {StepNone, false},
	"serving":      {StepNone, false},
	"epochs":       {StepNone, false},
}

// operationalKeys lists the keys of a model that affect where and when it is called, but not its answers.
var operationalKeys = map[string]bool{
	"key": true, "headers": true, "ca": true, "proxy": true, "timeout": true, "price": true,
	"requests_per_minute": true, "tokens_per_minute": true,
}

// EffectOf returns what depends on a key, such as train.beta. It returns false for keys that cannot be changed in a
// run: its name, its seed, its number of agents, and what stage 1 depends on.
func (s Spec) EffectOf(key string) (Effect, bool) {
	if rest, ok := strings.CutPrefix(key, "models."); ok {
		name, field, _ := strings.Cut(rest, ".")
		field, _, _ = strings.Cut(field, ".")

		return s.effectOfModel(Role(name), field), true
	}
	for prefix := key; prefix != ""; prefix = prefix[:max(0, strings.LastIndexByte(prefix, '.'))] {
		if effect, ok := effects[prefix]; ok {
			return effect, true
		}
	}

	return Effect{}, false
}

// effectOfModel returns what depends on a field of a model. If the model plays several roles, the role whose effect
// comes first in an epoch counts.
func (s Spec) effectOfModel(name Role, field string) Effect {
	switch {
	case operationalKeys[field]:
		return Effect{First: StepNone}
	case s.Summariser.Model == name:
		return effects["summariser"]
	case s.Critic.Model == name:
		return effects["critic"]
	case s.Adversary.Model == name:
		return effects["adversary"]
	}

	return Effect{First: StepNone}
}

// Immediate reports whether a change of the key takes effect at once instead of from the next epoch on, because nothing
// that is recorded depends on the key.
func (s Spec) Immediate(key string) bool {
	effect, ok := s.EffectOf(key)

	return ok && effect.First == StepNone
}
