package store

import "fmt"

// Keys of a run's objects. Numbers have four digits, so that lexical order is numeric order.

func run(name string) string { return "runs/" + name + "/" }

// RunPrefix is where everything of a run stands, blobs apart.
func RunPrefix(name string) string { return run(name) }

// SpecKey is the resolved specification.
func SpecKey(name string) string { return run(name) + "spec.json" }

// BaseKey is the result of stage 1: the base policy.
func BaseKey(name string) string { return run(name) + "base.json" }

// EndKey is the result of the run.
func EndKey(name string) string { return run(name) + "end.json" }

// FineTuneKey is an object of stage 1: demonstrations, a chunk of training, its evaluation.
func FineTuneKey(name, what string, n int) string {
	return run(name) + fmt.Sprintf("finetune/%s/%04d.json", what, n)
}

// EpochPrefix is where an epoch's objects stand.
func EpochPrefix(name string, epoch int) string {
	return run(name) + fmt.Sprintf("epochs/%04d/", epoch)
}

// TopologyKey is E_k.
func TopologyKey(name string, epoch int) string { return EpochPrefix(name, epoch) + "topology.json" }

// SlotsKey is the plan of an epoch.
func SlotsKey(name string, epoch int) string { return EpochPrefix(name, epoch) + "slots.json" }

// EpochKey is the commit of an epoch.
func EpochKey(name string, epoch int) string { return EpochPrefix(name, epoch) + "epoch.json" }

// EpisodePrefix is where a slot's objects stand.
func EpisodePrefix(name string, epoch, slot int) string {
	return EpochPrefix(name, epoch) + fmt.Sprintf("episodes/%04d/", slot)
}

// AttemptKey is an object of one attempt at a slot: start, episode, void.
func AttemptKey(name string, epoch, slot, attempt int, what string) string {
	return EpisodePrefix(name, epoch, slot) + fmt.Sprintf("a%d/%s.json", attempt, what)
}

// StepKey is one recorded decision.
func StepKey(name string, epoch, slot, attempt, step int) string {
	return EpisodePrefix(name, epoch, slot) + fmt.Sprintf("a%d/steps/%04d.json", attempt, step)
}

// CreditKey holds the reward matrices of a slot's episode.
func CreditKey(name string, epoch, slot int) string {
	return EpisodePrefix(name, epoch, slot) + "credit.json"
}

// PairsKey holds the preference pairs of a slot's episode.
func PairsKey(name string, epoch, slot int) string {
	return EpisodePrefix(name, epoch, slot) + "pairs.json"
}

// AgentKey is an object of one agent's update: dataset, update, checkpoint-0100.
func AgentKey(name string, epoch, agent int, what string) string {
	return EpochPrefix(name, epoch) + fmt.Sprintf("agents/%d/%s.json", agent, what)
}

// CallKey is one recorded call to a chat endpoint; id is the digest of the request.
func CallKey(name, id string) string { return CallsPrefix(name) + id[:2] + "/" + id + ".json" }

// CallsPrefix is where a run's recorded calls to chat endpoints stand.
func CallsPrefix(name string) string { return run(name) + "calls/" }

// ChangeKey is one change of a run by a person, from 1.
func ChangeKey(name string, n int) string { return run(name) + fmt.Sprintf("changes/%04d.json", n) }

// EvalKey is an object of an evaluation: its plan, an episode, its result. id is a path such as epoch-0003/trained-4/val.
func EvalKey(name, id, what string) string { return run(name) + "evals/" + id + "/" + what + ".json" }
