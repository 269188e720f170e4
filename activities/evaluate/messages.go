package evaluate

import (
	"context"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/runs"
)

// rightActions returns the canonical forms of the actions that an environment knows to be right now.
func rightActions(env envadapters.Environment, observation domain.Observation) []string {
	judge := envadapters.Can(env).Judge
	if judge == nil {
		return nil
	}
	var right []string
	for _, action := range judge.Right() {
		right = append(right, action.Canonical(observation))
	}

	return right
}

// heard returns what agents read in episode i of an item whose messages are shuffled: the messages of the same agent
// and round in another episode of the same system, of the same template if there is one. If that episode was shorter,
// or had fewer cells, its last messages are read again. With a liar, only the messages of one agent are replaced.
func (r *Rollouts) heard(
	ctx context.Context, specification spec.Spec, item rules.EvalItem, i int,
) (func(step int, cell domain.Cell) string, error) {
	if !item.System.Shuffled && !item.System.Liar {
		return nil, nil
	}
	kind, err := rules.ParseSystemKind(item.System.Name)
	if err != nil {
		return nil, fault.As(fault.Fatal, err)
	}
	donor, _ := kind.Donor()
	donated := item
	donated.System.Name = donor.String()
	read := func(n int) (runs.EvalEpisode, error) {
		episode, _, err := runs.Run(item.Run).EvalEpisode(donated.ID(), n+1).Must(ctx, r.Bucket)

		return episode, err
	}
	own, err := read(i)
	if err != nil {
		return nil, err
	}
	liar := rules.Liar(specification, item, i)
	said := func(episode runs.EvalEpisode) func(step int, cell domain.Cell) string {
		return func(step int, cell domain.Cell) string {
			if item.System.Liar && cell.Agent != liar {
				return cell.Text
			}

			return episode.Said(step, cell.Agent, cell.Round)
		}
	}
	var otherTemplate runs.EvalEpisode
	for k := 1; k < item.Episodes; k++ {
		other, err := read((i + k) % item.Episodes)
		switch {
		case err != nil:
			return nil, err
		case len(other.Steps) == 0:
		case other.Task.Template == own.Task.Template:
			return said(other), nil
		case len(otherTemplate.Steps) == 0:
			otherTemplate = other
		}
	}

	return said(otherTemplate), nil
}
