package view_test

import (
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/credit"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/test/kit/testrun"
)

// everything returns a store with pages of every kind: the runs "small", which has ended, and "crafted", committed with
// evaluations, "spoken", and an experiment and a line.
func everything(t *testing.T) store.Bucket {
	t.Helper()
	r, _ := testrun.Learned(t)
	pictured(t, r.Bucket)
	compared(t, r.Bucket, "crafted")
	committed(t, r.Bucket, "crafted")
	spoken(t, r.Bucket)

	return r.Bucket
}

// committed commits the epoch of "crafted", with hostile texts in updates and data cards, and writes another evaluation
// of the tasks of pictured.
func committed(t *testing.T, b store.Bucket, run runs.Run) {
	t.Helper()
	e := runs.Epoch{
		Number: 1, Kept: "val fell" + hostile[0], Accepted: "me" + hostile[1], Digest: "d" + hostile[2],
		Rollouts: runs.NewResult("rollouts"+hostile[0], "train", 1, 3, 0, "plain"), Pairs: 2,
	}
	val := runs.NewResult("trained-2", "val", 3, 10, 0, "plain")
	e.Val = &val
	for agent := range 2 {
		card := credit.Card{
			BySource: map[domain.Source]int{domain.SourceAdversary: 2, domain.Source("peer" + hostile[1]): 1},
			Counts:   map[string]int{"tap" + hostile[0] + "/click/adversary": 3},
			StyleAUC: 0.6, Chosen: 40, Rejected: 50,
		}
		data := record(t, b, run.Dataset(1, agent), runs.Dataset{Agent: agent, Count: 3, Card: card})
		u := runs.Update{
			Agent: agent, Dataset: data, Kept: "KL too large" + hostile[1], Steps: 4,
			Policy: runs.Policy{Digest: "p" + hostile[2]},
			Curve:  []domain.TrainPoint{{Step: 1, Loss: 2}, {Step: 2, Loss: 1}},
			Probe: domain.Probe{
				Prompts: 4, KL: 0.5 + float64(agent), Entropy: 1, ParseRate: 0.75, Displaced: -0.125,
				BySource: map[domain.Source]domain.ProbeSource{domain.Source("own" + hostile[1]): {Pairs: 3}},
				Chosen:   domain.LogProbs{Policy: -1, Parent: -2}, Rejected: domain.LogProbs{Policy: -4, Parent: -3},
			},
		}
		u.Served = domain.Gap{Answers: 8, Mean: 0.25, Worst: 0.5, Limit: 1}
		if agent == 1 {
			u.Served = domain.Gap{Unknown: "no server" + hostile[1]}
			u.Probe = domain.Probe{Unknown: "no log-probabilities" + hostile[0]}
		}
		e.Updates = append(e.Updates, record(t, b, run.Update(1, agent), u))
	}
	record(t, b, run.Epoch(1), e)

	const id = "final/base-2/val"
	step := hostileStep()
	last := step.Decision.Cells[2]
	step.Decision.Executed, step.Decision.AllRound.Canonical = *last.Action, last.Canonical
	record(t, b, run.EvalEpisode(id, 1), runs.EvalEpisode{
		Goal: step.Goal, Steps: []runs.EvalStep{runs.NewEvalStep(step.Goal, step.Observation, step.Decision)},
		Outcome: domain.Outcome{Success: true, Steps: 1},
		Task:    domain.Task{Template: "tap" + hostile[0], Split: "train", Seed: 1<<64 - 1}, // the seed of slot 5
	})
	record(t, b, run.Result(id), runs.NewResult("base-2"+hostile[0], "val", 1, 1, 0, "plain"+hostile[1]))
}
