package tiny

import (
	"context"
	"math"
	"runtime"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/policy/tinylm"
	"github.com/collabui/collabui/trainer"
)

var _ trainer.Scorer = (*Trainer)(nil)

// Score scores answers with policies of the store. A token is one choice of the grammar.
func (t *Trainer) Score(ctx context.Context, job trainer.ScoreJob) (trainer.Scores, error) {
	out := trainer.Scores{Scores: make([]trainer.Score, len(job.Rows)), Precision: domain.Exact}
	examples := map[string][]tinylm.Example{} // by policy
	at := map[string][]int{}                  // their rows
	for i, row := range job.Rows {
		out.Scores[i].LogProb = math.Inf(-1)
		prompt := tinylm.ParsePrompt(row.Prompt)
		choice, err := prompt.Parse(row.Answer)
		if err != nil {
			continue
		}
		out.Scores[i].Tokens = choice.Made()
		example := tinylm.Example{Prompt: prompt, Answers: []tinylm.Choice{choice}}
		examples[row.Policy] = append(examples[row.Policy], example)
		at[row.Policy] = append(at[row.Policy], i)
	}

	for policy, own := range examples {
		model, err := Load(ctx, t.Bucket, policy)
		if err != nil {
			return out, err
		}
		for k, logProbs := range model.LogProbs(own, runtime.GOMAXPROCS(0)) {
			score := &out.Scores[at[policy][k]]
			score.LogProb = logProbs[0]
			if job.Rows[at[policy][k]].Sampled { // servers return them at temperature 1
				score.Scaled = score.LogProb
				score.Cut = score.LogProb
			}
		}
	}

	return out, nil
}
