package activities

import (
	"context"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/records/runs"
)

// right returns the canonical forms of the actions that an environment knows to be right now.
func right(env envadapters.Environment, o domain.Observation) []string {
	judge := envadapters.Can(env).Judge
	if judge == nil {
		return nil
	}
	var out []string
	for _, a := range judge.Right() {
		out = append(out, a.Canonical(o))
	}

	return out
}

// heard returns what agents read in episode i of an item whose messages are shuffled: those of the same agent and round
// in another episode of the same system, of another template if there is one. Where that was shorter, or asked fewer
// cells, its last ones are read again.
func (r *Rollouts) heard(ctx context.Context, item rules.EvalItem, i int) (func(step, agent, round int) string, error) {
	if !item.System.Shuffled {
		return nil, nil
	}
	kind, err := rules.ParseSystemKind(item.System.Name)
	if err != nil {
		return nil, fault.As(fault.Fatal, err)
	}
	from, _ := kind.Donor()
	played := func(n int) (runs.EvalEpisode, error) {
		id := rules.EvalID(item.Folder, from.String(), item.Split)
		ep, _, err := runs.Run(item.Run).EvalEpisode(id, n+1).Must(ctx, r.Bucket)

		return ep, err
	}
	own, err := played(i)
	if err != nil {
		return nil, err
	}
	var same runs.EvalEpisode // of its template
	for k := 1; k < item.Episodes; k++ {
		other, err := played((i + k) % item.Episodes)
		switch {
		case err != nil:
			return nil, err
		case len(other.Steps) == 0:
		case other.Task.Template != own.Task.Template:
			return other.Said, nil
		case len(same.Steps) == 0:
			same = other
		}
	}

	return same.Said, nil
}
