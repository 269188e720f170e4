package rules

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/method/spec"
)

// EvalSystem is a system to evaluate: its policies, and how they decide. A single agent has one round.
type EvalSystem struct {
	Name        string
	Policies    []string // digests by agent
	Rounds      int
	Temperature []float64 // temperatures by agent
	TopP        float64
	Silent      bool // agents read no messages, as the topology has no edges
	OneOf       bool // one of the policies plays alone, drawn for each episode
	Less        bool `json:",omitempty"` // all policies but one play, drawn for each episode
	Shuffled    bool `json:",omitempty"` // messages come from another task that the same system played
	Liar        bool `json:",omitempty"` // one agent, drawn for each episode, says what it said in another task
	Whole       bool `json:",omitempty"` // agents see the whole screen, even if the specification divides views

	// Model is a name under models. If it is set, that model answers for the only agent instead of a policy.
	Model string `json:",omitempty"`
	// Style is the prompting style of the only agent, one of prompts.Styles. If it is empty, the agent has the prompt
	// of a run's agents.
	Style string `json:",omitempty"`

	// A reference has no policies: it always takes the action Always or, if Recorded, the action of the environment's
	// expert, which for recorded tasks is the recorded action.
	Always   *domain.Action `json:",omitempty"`
	Recorded bool           `json:",omitempty"`
}

// TrainedName returns the name of a trained system of n agents.
func TrainedName(n int) string { return fmt.Sprintf("trained-%d", n) }

// BaseName returns the name of a system of n agents that all have the base policy.
func BaseName(n int) string { return fmt.Sprintf("base-%d", n) }

// ValName returns the name of the system of an epoch whose rate on val the next epoch is compared with.
func ValName(specification spec.Spec, epoch int) string {
	switch {
	case epoch > 0:
		return TrainedName(specification.Agents)
	case specification.Agents > 1:
		return BaseName(specification.Agents)
	}

	return NameBaseWarm
}

// AllAgents returns the system of all agents of a run, as evaluation plays it.
func AllAgents(specification spec.Spec, name string, policies []string) EvalSystem {
	return EvalSystem{
		Name: name, Policies: policies, Rounds: specification.Rounds,
		Temperature: specification.Temperatures(), TopP: specification.Decoding.TopP,
	}
}

// References returns the systems without policies that every table of recorded tasks contains.
func References() []EvalSystem {
	return []EvalSystem{
		{Name: "always-finish", Always: &domain.Action{Family: domain.FamilyWeb, Type: domain.ActionFinish}},
		{Name: "recorded-action", Recorded: true},
	}
}

// IsReference reports whether the system has no policies.
func (e EvalSystem) IsReference() bool { return e.Always != nil || e.Recorded }

// Decoding describes the decoding for tables of results.
func (e EvalSystem) Decoding() string {
	if e.IsReference() {
		return "no policy"
	}
	n := len(e.Policies)
	if e.OneOf {
		n = 1
	}
	if e.Less {
		n--
	}
	text := fmt.Sprintf("n=%d m=%d temperature=%v top_p=%v", n, e.Rounds, e.Temperature, e.TopP)
	if e.Silent {
		text += " without messages"
	}
	if e.Shuffled {
		text += " with messages of other tasks"
	}
	if e.Liar {
		text += " with one agent's messages of other tasks"
	}
	if e.Whole {
		text += " on the whole screen"
	}
	if e.Style != "" {
		text += " in the style of " + e.Style
	}
	if e.Model != "" {
		text = "model " + e.Model + ", " + text
	}

	return text
}

// Config returns how the system decides in episode i of a split, and the number of its topology in the fixed list of
// evaluation topologies, which never includes a run's own graphs. Every four episodes play all four topologies, in an
// order drawn from (evaluation seed, split, i/4). Topologies do not simply take turns, because templates do, so each
// topology would always meet the same templates. Cells that can no longer change the vote are skipped.
func (e EvalSystem) Config(specification spec.Spec, split string, i uint64) (agents.Config, int, error) {
	policies, temperature := e.players(specification, split, i)
	n := len(policies)
	topologies := domain.EvaluationTopologies(n)
	if e.Silent {
		topologies = []domain.Topology{{Agents: n, Edges: [][2]int{}}}
	}
	count := uint64(len(topologies))
	number := domain.Rand(specification.Evaluation.Seed, "topology", split, i/count).Perm(len(topologies))[i%count]
	conf, err := Decoding(specification, policies, topologies[number], EvalCalls(specification, split, int(i)))
	conf.Rounds = e.Rounds
	conf.Temperature = temperature
	conf.TopP = e.TopP
	conf.Early = true
	if e.Whole {
		conf.Views = agents.Views{}
	}
	if e.Model != "" {
		conf.MaxTokens = 0 // the endpoint's own limit applies
	}

	return conf, number, err
}

// Sees reports whether the system's policies or its chat model can see pictures.
func (e EvalSystem) Sees(specification spec.Spec) bool {
	if e.Model != "" {
		return specification.Models[spec.Role(e.Model)].Images
	}

	return specification.Observation.Pictured()
}

// players returns the policies of the agents that play episode i, and their temperatures.
func (e EvalSystem) players(given spec.Spec, split string, i uint64) (policies []string, temperature []float64) {
	if !e.OneOf && !e.Less {
		return e.Policies, e.Temperature
	}
	n := uint64(len(e.Policies))
	one := domain.Seed(given.Evaluation.Seed, "one of", split, i) % n
	for k := range n {
		if (k == one) != e.OneOf {
			continue
		}
		policies = append(policies, e.Policies[k])
		if len(e.Temperature) > 1 { // one per agent, instead of one for all
			temperature = append(temperature, e.Temperature[k])
		}
	}
	if len(e.Temperature) == 1 {
		temperature = e.Temperature
	}

	return policies, temperature
}

// Liar returns the agent whose messages come from another task in episode i of an item, if its system has a liar.
func Liar(specification spec.Spec, item EvalItem, i int) int {
	return int(domain.Seed(specification.Evaluation.Seed, "liar", item.Split, i) % uint64(len(item.System.Policies)))
}

// EvalItem is the evaluation of one system on one split.
type EvalItem struct {
	Run      string
	Folder   string // EpochFolder, ReferenceFolder or ExperimentFolder
	System   EvalSystem
	Split    string
	Episodes int

	Environment string              `json:",omitempty"` // name in the specification; empty means the run's own
	Options     envadapters.Options `json:",omitzero"`  // options of that environment

	Tasks string `json:",omitempty"` // digest of a blob with a list of tasks; empty means the split's tasks
	AtEnd bool   `json:",omitempty"` // played at the end of the run, by the specification at that time

	// Judged records which actions were right, if the environment knows them.
	Judged bool `json:",omitempty"`
}

// Folders of evaluations.
const (
	ReferenceFolder = "references" // evaluations of systems without policies

	ExperimentFolder = "experiment" // evaluations of a run's systems for an experiment
)

// EpochFolder returns the folder of an epoch's evaluations.
func EpochFolder(epoch int) string { return fmt.Sprintf("epoch-%04d", epoch) }

// EpochOf returns the epoch of a folder named by EpochFolder. It returns false for other folders.
func EpochOf(folder string) (epoch int, ok bool) {
	_, err := fmt.Sscanf(folder, "epoch-%d", &epoch)

	return epoch, err == nil
}

// EvalID returns the folder of an evaluation below the run's evaluations.
func EvalID(folder, system, split string) string { return folder + "/" + system + "/" + split }

// ID returns the item's folder below the run's evaluations.
func (i EvalItem) ID() string {
	if i.Environment != "" {
		return EvalID(i.Folder, i.System.Name, i.Environment+"."+i.Split)
	}

	return EvalID(i.Folder, i.System.Name, i.Split)
}

// Where returns the options of the item's environment.
func (i EvalItem) Where(specification spec.Spec) envadapters.Options {
	if i.Environment != "" {
		return i.Options
	}

	return specification.Where(specification.Environment)
}

// Split is a split and the number of its episodes to play.
type Split struct {
	Name        string
	Episodes    int
	Environment string              `json:",omitempty"` // empty means the run's own
	Options     envadapters.Options `json:",omitzero"`
}

// Item returns the evaluation of a system on the split.
func (p Split) Item(run, folder string, evalSystem EvalSystem) EvalItem {
	return EvalItem{
		Run: run, Folder: folder, System: evalSystem, Split: p.Name, Episodes: p.Episodes,
		Environment: p.Environment, Options: p.Options,
	}
}

// EvalTask returns task i of a split: templates take turns, and every task has its own seed. Tasks depend on the suite
// and the evaluation's seed, never on the name of a run or a system, so all systems are compared on the same episodes.
// A split without templates is an invalid fault.
func EvalTask(specification spec.Spec, suite envadapters.Suite, split string, i int) (domain.Task, error) {
	ts, err := suite.Templates(split)
	if err != nil {
		return domain.Task{}, err
	}
	if len(ts) == 0 {
		return domain.Task{}, fault.New(fault.Invalid, "split %q of %s has no templates", split, suite.Name())
	}
	t := ts[i%len(ts)]
	seed := domain.Seed(specification.Evaluation.Seed, suite.Name(), split, i)

	return domain.Task{Suite: suite.Name(), Template: t.Name, Split: split, Seed: seed, MaxSteps: t.MaxSteps}, nil
}

// EvalCalls returns the seed of the calls in episode i of a split.
func EvalCalls(specification spec.Spec, split string, i int) uint64 {
	return domain.Seed(specification.Evaluation.Seed, "calls", split, i)
}

// SameVal reports whether two specifications measure the rate on val on the same episodes.
func SameVal(specification, given spec.Spec) bool { return ValOf(specification) == ValOf(given) }

// ValOf identifies the episodes of val by a digest of what determines them.
func ValOf(given spec.Spec) string {
	raw, err := json.Marshal([]any{given.Evaluation.Seed, given.Evaluation.Val, given.Where(given.Environment)})
	if err != nil {
		panic(err) // the values can always be encoded
	}
	sum := sha256.Sum256(raw)

	return hex.EncodeToString(sum[:6])
}
