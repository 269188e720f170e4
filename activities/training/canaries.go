package training

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/chat"
	"github.com/collabui/collabui/internal/method/gates"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/observe/events"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/trainer"
)

// scorers is the number of requests for scores of a server that are under way concurrently.
const scorers = 8

// Trained is a policy with what its canaries are drawn from.
type Trained struct {
	Policy string           // its digest
	System string           // the message of all prompts; if empty, it is the agents'
	Pairs  []domain.Example // on which the policy was trained
	Seed   uint64           // draws the pairs
}

// Canaries has the trainer score answers of the pairs that a policy was trained on, with the weights that it has
// saved, and further rows, whose scores it returns. If the trainer cannot score, the canaries contain the reason, and
// there are no scores.
func (j *Jobs) Canaries(
	ctx context.Context, given spec.Spec, trained Trained, more ...trainer.Row,
) (*runs.Canaries, []trainer.Score, error) {
	policy := trained.Policy
	system := trained.System
	if system == "" {
		template, err := rules.Template(given)
		if err != nil {
			return nil, nil, err
		}
		system = template.System()
	}
	var rows []trainer.Row
	for _, pair := range gates.CanaryPairs(given.Serving.Canaries, trained.Pairs, trained.Seed) {
		for _, answer := range []string{pair.Chosen, pair.Rejected} {
			if answer != "" {
				rows = append(rows, trainer.Row{
					Policy: policy, Prompt: pair.Prompt, Image: pair.Image, Answer: answer,
				})
			}
		}
	}
	own := len(rows)
	rows = append(rows, more...)
	out := &runs.Canaries{System: system}
	if len(rows) == 0 {
		out.Unknown = "no row was drawn"

		return out, nil, nil
	}

	got, err := j.score(ctx, given, trainer.ScoreJob{Rows: rows, System: system, Options: given.Trainer.Options})
	if errors.Is(err, trainer.ErrNoScores) {
		out.Unknown = err.Error()
		j.Log.For(given.Name, "policy", policy).Warn("what is served is not compared with what was trained",
			"reason", out.Unknown)

		return out, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}

	out.Precision = got.Precision
	for i, score := range got.Scores[:own] {
		if !math.IsInf(score.LogProb, 0) && !math.IsNaN(score.LogProb) { // the policy cannot say it
			out.Rows = append(out.Rows, runs.Canary{
				Prompt: rows[i].Prompt, Image: rows[i].Image, Answer: rows[i].Answer,
				LogProb: score.LogProb, Tokens: score.Tokens, Before: score.Prompt, IDs: score.IDs,
			})
		}
	}

	return out, got.Scores[own:], nil
}

// score has the trainer score rows.
func (j *Jobs) score(ctx context.Context, given spec.Spec, job trainer.ScoreJob) (trainer.Scores, error) {
	runner, err := j.Trainer(given)
	if err != nil {
		return trainer.Scores{}, err
	}
	scorer, ok := runner.(trainer.Scorer)
	if !ok {
		return trainer.Scores{}, fmt.Errorf("%w: %s has no Score", trainer.ErrNoScores, given.Trainer.Name)
	}
	ctx, stop := untilDrained(ctx)
	defer stop()
	got, err := scorer.Score(ctx, job)
	if errors.Is(err, context.Canceled) {
		err = context.Cause(ctx)
	}
	if err == nil && len(got.Scores) != len(job.Rows) {
		err = fault.New(fault.Fatal, "the trainer %s returned %d scores of %d rows", given.Trainer.Name,
			len(got.Scores), len(job.Rows))
	}

	return got, err
}

// PublishChecked loads a policy into the policy servers of a run, and compares what they serve with its canaries. It
// may be repeated.
func (j *Jobs) PublishChecked(
	ctx context.Context, given spec.Spec, of Published, policy string, canaries *runs.Canaries,
) (domain.Gap, error) {
	if err := j.Load(ctx, policy, given.Serving.Quorum); err != nil {
		return domain.Gap{}, err
	}

	return j.checkServed(ctx, given, of, policy, canaries)
}

// Published names what is published. Epoch 0 is stage 1.
type Published struct{ Epoch, Agent int }

// checkServed scores the canaries of a policy on every policy server, under the name by which the policy is published.
// A server that reads other tokens than the trainer, or whose scores are further from the trainer's than the limit, is
// an invalid fault. As many servers as the quorum requires must answer; one that cannot score leaves the gap unknown.
func (j *Jobs) checkServed(
	ctx context.Context, given spec.Spec, of Published, policy string, canaries *runs.Canaries,
) (domain.Gap, error) {
	switch {
	case canaries == nil || given.Serving.Canaries == 0:
		return domain.Gap{}, nil
	case canaries.Unknown != "":
		return domain.Gap{Unknown: canaries.Unknown}, nil
	case len(j.Servers) == 0:
		return domain.Gap{Unknown: "no policy server is known"}, nil
	case len(canaries.Rows) == 0:
		return domain.Gap{Unknown: "the policy can say none of the answers"}, nil
	}

	gaps := make([]domain.Gap, len(j.Servers))
	errs := make([]error, len(j.Servers))
	var all sync.WaitGroup
	for i, server := range j.Servers {
		all.Go(func() { gaps[i], errs[i] = served(ctx, server, given.Serving, policy, canaries) })
	}
	all.Wait()

	var widest domain.Gap
	var silent []error
	answered := 0
	for i, gap := range gaps {
		switch wrong := (misservedError{}); {
		case errors.As(errs[i], &wrong):
			j.TellGap(given.Name, of, events.GapServed, wrong.gap)

			return wrong.gap, fault.New(fault.Invalid, "%w", errs[i])
		case errors.Is(errs[i], chat.ErrNoScores):
			answered++
			widest.Unknown = errs[i].Error()
		case errs[i] != nil:
			silent = append(silent, fmt.Errorf("%s: %w", j.Servers[i].Name, errs[i]))
		default:
			answered++
			if gap.Mean >= widest.Mean {
				gap.Unknown = widest.Unknown
				widest = gap
			}
		}
	}
	quorum := given.Serving.Quorum
	if quorum == 0 {
		quorum = len(j.Servers)
	}
	if answered < quorum {
		return domain.Gap{}, errors.Join(silent...)
	}
	j.TellGap(given.Name, of, events.GapServed, widest)

	return widest, nil
}

// TellGap sends a gap to those who watch, if it was measured.
func (j *Jobs) TellGap(run string, of Published, kind string, gap domain.Gap) {
	if gap.Answers > 0 {
		j.Emit.Send(run, events.Gap{
			Epoch: of.Epoch, Agent: of.Agent, Of: kind, Mean: gap.Mean, Worst: gap.Worst, Limit: gap.Limit,
		})
	}
}

// misservedError is the error of a server that does not serve the policy that was trained.
type misservedError struct {
	gap  domain.Gap
	text string
}

func (e misservedError) Error() string { return e.text }

// mend tells a person what to do about a server that does not serve what was trained.
const mend = "Restart that server, check that its base model, tokenizer, chat template and size of pictures are the " +
	"trainer's, then resume the run"

// served compares the scores of one server with a policy's canaries.
func served(
	ctx context.Context, server Server, serving spec.Serving, policy string, canaries *runs.Canaries,
) (domain.Gap, error) {
	scores, err := scoresOf(ctx, server, policy, canaries)
	if err != nil {
		return domain.Gap{}, err
	}

	var all []gates.Compared
	var of []int // the row of every compared answer
	for i, row := range canaries.Rows {
		score := scores[i]
		if score == nil {
			continue
		}
		all = append(all, gates.Compared{Trainer: row.LogProb, Server: score.LogProb, Tokens: row.Tokens})
		of = append(of, i)
		sayable := !math.IsInf(score.LogProb, 0) // other scores have no tokens
		if sayable && (score.Tokens != row.Tokens || score.IDs != row.IDs && score.IDs != "" && row.IDs != "") {
			return domain.Gap{}, misservedError{
				gap: domain.Gap{Answers: 1, Mean: gates.Endless, Worst: gates.Endless},
				text: fmt.Sprintf("policy %s: %s reads other tokens than the trainer: canary %d has %d tokens of "+
					"prompt and %d of answer (%s) for the server, %d and %d (%s) for the trainer. %s", policy,
					server.Name, i+1, score.Prompt, score.Tokens, score.IDs, row.Before, row.Tokens, row.IDs, mend),
			}
		}
	}

	gap, worst := gates.GapOf(all, gates.GapLimit(serving, canaries.Precision))
	gap.Left = len(canaries.Rows) - len(all)
	if gap.Wide() {
		row := canaries.Rows[of[worst]]

		return domain.Gap{}, misservedError{gap: gap, text: fmt.Sprintf("policy %s: what %s serves under this name is "+
			"not what was trained: log π of %d canaries is on average %.3g nats per token from the trainer's (%s), "+
			"more than %.3g; canary %d has %.4f by the trainer and %.4f by the server. %s", policy, server.Name,
			gap.Answers, gap.Mean, canaries.Precision, gap.Limit, of[worst]+1, row.LogProb, all[worst].Server, mend)}
	}

	return gap, nil
}

// scoresOf returns a server's scores of canaries. A score is nil if the server refuses the prompt.
func scoresOf(ctx context.Context, server Server, policy string, canaries *runs.Canaries) ([]*chat.Score, error) {
	out := make([]*chat.Score, len(canaries.Rows))
	requests, ctx := errgroup.WithContext(ctx)
	requests.SetLimit(scorers)
	for i, row := range canaries.Rows {
		requests.Go(func() error {
			got, err := server.Score(ctx, chat.ScoreRequest{
				Model: policy, System: canaries.System, User: row.Prompt, Images: chat.Stored(row.Image),
				Answers: []string{row.Answer},
			})
			if fault.KindOf(err) == fault.Refused {
				return nil
			}
			if err == nil {
				out[i] = &got[0]
			}

			return err
		})
	}

	return out, requests.Wait()
}
