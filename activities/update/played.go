package update

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/collabui/collabui/activities/training"
	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/gates"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/observe/events"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/trainer"
)

// sampledCell is an answer of a rollout, whose log-probability the policy server returned when it sampled the answer.
type sampledCell struct {
	row     trainer.Row
	logProb float64
	tokens  int
}

// sampled draws answers of an agent from the rollouts of an epoch, at most one of each slot and serving.canaries in
// all. Answers without a log-probability or with thoughts, which training rows lack, are left out.
func (g *GPU) sampled(ctx context.Context, given spec.Spec, id AgentID) ([]sampledCell, error) {
	run := runs.Run(id.Run)
	slots, _, err := run.Slots(id.Epoch).Must(ctx, g.Bucket)
	if err != nil {
		return nil, err
	}

	var out []sampledCell
	random := domain.Rand(given.Seed, "played", id.Epoch, id.Agent)
	for _, slot := range random.Perm(len(slots.Slots)) {
		if len(out) == given.Serving.Canaries {
			break
		}
		cells, err := g.cells(ctx, run, id, slot+1, random)
		if err != nil {
			return nil, err
		}
		if len(cells) == 0 {
			continue
		}
		cell := cells[random.IntN(len(cells))]
		out = append(out, sampledCell{
			row: trainer.Row{
				Policy:      slots.System.Policies[id.Agent].Digest,
				Prompt:      cell.Prompt,
				Image:       cell.Image,
				Answer:      cell.Text,
				Sampled:     true,
				Temperature: given.Temperatures()[id.Agent], TopP: given.Decoding.TopP,
			},
			logProb: cell.LogProb, tokens: cell.Usage.Answer,
		})
	}

	return out, nil
}

// cells returns the cells of an agent in one step of a slot's episode, drawn at random, that a trainer can score again.
// It reads only this step.
func (g *GPU) cells(ctx context.Context, run runs.Run, id AgentID, slot int, random *rand.Rand) ([]domain.Cell, error) {
	episode, _, err := run.Episode(ctx, g.Bucket, id.Epoch, slot)
	if err != nil || episode.Failed != "" || len(episode.Steps) == 0 {
		return nil, err
	}
	step, _, err := store.Must[runs.Step](ctx, g.Bucket, episode.Steps[random.IntN(len(episode.Steps))].Key)
	if err != nil {
		return nil, err
	}

	var out []domain.Cell
	for _, cell := range step.Decision.Cells {
		if cell.Agent == id.Agent && cell.LogProb != 0 && cell.Text != "" && cell.Thought == "" {
			out = append(out, cell)
		}
	}

	return out, nil
}

// played returns the gap between the log-probabilities of sampled answers and the trainer's scores of them. Servers
// differ in whether they return log π at temperature 1, at the temperature of the sampling, or within top_p; the form
// that is nearest counts. Texts that have other tokens than were sampled cannot be compared.
func played(cells []sampledCell, scores []trainer.Score, limit float64, unknown string) domain.Gap {
	if unknown != "" {
		return domain.Gap{Unknown: unknown}
	}
	forms := make([][]gates.Compared, 3)
	for i, score := range scores {
		cell := cells[i]
		if score.Tokens != cell.tokens {
			continue
		}
		for form, logProb := range []float64{score.LogProb, score.Scaled, score.Cut} {
			forms[form] = append(forms[form], gates.Compared{
				Trainer: logProb, Server: cell.logProb, Tokens: cell.tokens,
			})
		}
	}
	if len(forms[0]) == 0 {
		return domain.Gap{Left: len(cells), Unknown: "no sampled answer could be compared"}
	}

	var nearest domain.Gap
	for form, all := range forms {
		gap, _ := gates.GapOf(all, limit)
		if form == 0 || gap.Mean < nearest.Mean {
			nearest = gap
		}
	}
	nearest.Left = len(cells) - nearest.Answers

	return nearest
}

// tellPlayed sends the gap of an agent's rollouts to those who watch, and a warning if it is wide.
func (g *GPU) tellPlayed(id AgentID, gap domain.Gap) {
	g.Jobs.TellGap(id.Run, training.Published{Epoch: id.Epoch, Agent: id.Agent}, events.GapPlayed, gap)
	if gap.Wide() {
		g.Emit.Send(id.Run, events.Warning{Epoch: id.Epoch, Agent: id.Agent, Text: fmt.Sprintf(
			"log π of %d answers of the rollouts is on average %.3g nats per token from what the trainer computes for "+
				"the same policy, more than %.3g: the policy servers may have played another policy, or read other "+
				"prompts",
			gap.Answers, gap.Mean, gap.Limit)})
	}
}
