package runs

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/store"
)

// Committed returns the number of committed epochs, including the epochs that the run shares. They are committed in
// order, without gaps.
func (r Run) Committed(ctx context.Context, bucket store.Bucket) (int, error) {
	shared, err := r.Shared(ctx, bucket)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return 0, err
	}

	return Log[Epoch](r.Epoch).End(ctx, bucket, shared.Last())
}

// Chosen returns the epoch whose system represents the run: the best on val if the run has ended, otherwise the newest
// committed one. 0 is the base policy.
func (r Run) Chosen(ctx context.Context, bucket store.Bucket) (int, error) {
	end, ended, err := r.End().Sure(ctx, bucket)
	if err != nil || ended {
		return end.Best, err
	}

	return r.Committed(ctx, bucket)
}

// System returns the system that an epoch made, from the updates of its n agents: it can be read before the epoch is
// committed. Epoch 0 made the base policy n times.
func (r Run) System(ctx context.Context, bucket store.Bucket, epoch, n int) (System, error) {
	system := System{Version: epoch}
	if epoch == 0 {
		base, _, err := r.Base().Must(ctx, bucket)
		system.Policies = slices.Repeat([]Policy{base.Policy}, n)

		return system, err
	}

	for agent := range n {
		update, _, err := r.Update(epoch, agent).Must(ctx, bucket)
		if err != nil {
			return system, err
		}
		system.Policies = append(system.Policies, update.Policy)
	}

	return system, nil
}

// Standing returns the system with which the agents continue after a committed epoch: the system that the epoch made,
// unless a drop on val kept the previous one.
func (r Run) Standing(ctx context.Context, bucket store.Bucket, epoch, n int) (System, error) {
	if epoch == 0 {
		return r.System(ctx, bucket, 0, n)
	}
	e, _, err := r.Epoch(epoch).Must(ctx, bucket)

	return e.System, err
}

// Episode returns the episode of a slot that has ended, and a reference to it. It is the first attempt that is not void
// and that no person ordered to be played again.
func (r Run) Episode(ctx context.Context, bucket store.Bucket, epoch, slot int) (Episode, store.Ref, error) {
	for attempt := 1; ; attempt++ {
		episode, ref, err := r.Attempt(epoch, slot, attempt).Must(ctx, bucket)
		if err != nil {
			return episode, ref, err
		}
		if last, err := r.ends(ctx, bucket, epoch, slot, episode); err != nil || last {
			return episode, ref, err
		}
	}
}

// MayEpisode is Episode for a slot that may not have ended.
func (r Run) MayEpisode(ctx context.Context, bucket store.Bucket, epoch, slot int) (Episode, bool, error) {
	for attempt := 1; ; attempt++ {
		episode, exists, err := r.Attempt(epoch, slot, attempt).May(ctx, bucket)
		if err != nil || !exists {
			return Episode{}, false, err
		}
		if last, err := r.ends(ctx, bucket, epoch, slot, episode); err != nil || last {
			return episode, err == nil, err
		}
	}
}

// ends reports whether a slot ended with an attempt.
func (r Run) ends(ctx context.Context, bucket store.Bucket, epoch, slot int, episode Episode) (bool, error) {
	if episode.Failed == "" {
		return episode.Void == "", nil
	}
	retried, err := r.Again(ctx, bucket, epoch, slot, episode.Attempt)

	return !retried, err
}

// IsAccepted reports whether a person lets an epoch continue without its failed parts; 0 is the time before the first.
func (r Run) IsAccepted(ctx context.Context, bucket store.Bucket, epoch int) (bool, error) {
	_, accepted, err := r.Accepted(epoch).Sure(ctx, bucket)

	return accepted, err
}

// Again reports whether a person ordered a slot to be played again after a failed attempt.
func (r Run) Again(ctx context.Context, bucket store.Bucket, epoch, slot, attempt int) (bool, error) {
	_, retried, err := r.Start(epoch, slot, attempt+1).Sure(ctx, bucket)

	return retried, err
}

// ReadSteps returns the recorded steps of an episode, in order.
func (e Episode) ReadSteps(ctx context.Context, bucket store.Bucket) ([]Step, error) {
	steps := make([]Step, len(e.Steps))
	for i, ref := range e.Steps {
		step, _, err := store.Must[Step](ctx, bucket, ref.Key)
		if err != nil {
			return nil, err
		}
		steps[i] = step
	}

	return steps, nil
}

// Budget returns the budget of the run now: the specification's, or the one in the newest change.
func (r Run) Budget(ctx context.Context, bucket store.Bucket, specification spec.Spec) (spec.Budget, error) {
	all, err := r.Changes(ctx, bucket, 0, 0)
	if err != nil {
		return specification.Budget, err
	}
	now, err := After(specification, all, 0)

	return now.Budget, err
}

// Spent is the cost of a run's recorded calls to chat endpoints.
type Spent struct {
	Calls  int     `json:"calls"`
	Tokens int     `json:"tokens"`
	Money  float64 `json:"money"`

	Estimated int `json:"estimated,omitempty"` // calls whose tokens are estimated, because the server reports no counts
}

// Add counts a call.
func (s *Spent) Add(answer Answer) {
	s.Calls++
	s.Tokens += answer.Usage.Prompt + answer.Usage.Answer
	s.Money += answer.Cost
	if answer.Usage.Estimated {
		s.Estimated++
	}
}

// Plus returns the sum of both.
func (s Spent) Plus(spent Spent) Spent {
	return Spent{
		Calls:  s.Calls + spent.Calls,
		Tokens: s.Tokens + spent.Tokens,
		Money:  s.Money + spent.Money,

		Estimated: s.Estimated + spent.Estimated,
	}
}

// Calls calls f with every recorded call of the run to a chat endpoint unless skip, which may be nil, rejects its key.
func (r Run) Calls(
	ctx context.Context, bucket store.Bucket, skip func(key string) bool, f func(key string, answer Answer),
) error {
	all, err := bucket.List(ctx, r.CallsPrefix())
	if err != nil {
		return err
	}
	for _, ref := range all {
		if skip != nil && skip(ref.Key) {
			continue
		}
		a, _, err := store.Must[Answer](ctx, bucket, ref.Key)
		if err != nil {
			return err
		}
		f(ref.Key, a)
	}

	return nil
}

// Purpose is the purpose of calls to a chat endpoint.
type Purpose struct {
	Role  string `json:"role"`
	Model string `json:"model"`
	Epoch int    `json:"epoch"` // 0 is stage 1
}

// Spending is the cost of the calls for a purpose.
type Spending struct {
	Purpose
	Spent
}

// Spending returns the cost of the run's recorded calls by role, model and epoch, in this order.
func (r Run) Spending(ctx context.Context, bucket store.Bucket) (out []Spending, err error) {
	by := map[Purpose]Spent{}
	err = r.Calls(ctx, bucket, nil, func(_ string, answer Answer) {
		purpose := Purpose{answer.Role, answer.Model, answer.Epoch}
		spent := by[purpose]
		spent.Add(answer)
		by[purpose] = spent
	})
	for p, s := range by {
		out = append(out, Spending{p, s})
	}
	slices.SortFunc(out, func(spending, y Spending) int {
		return cmp.Or(cmp.Compare(spending.Role, y.Role), cmp.Compare(spending.Model, y.Model), spending.Epoch-y.Epoch)
	})

	return out, err
}

// Spent returns the cost of all recorded calls of the run. If calls were removed, their recorded total counts.
func (r Run) Spent(ctx context.Context, bucket store.Bucket) (Spent, error) {
	all, err := r.Spending(ctx, bucket)
	if err != nil {
		return Spent{}, err
	}

	return r.Total(ctx, bucket, all)
}

// Total returns the sum of costs. If calls of the run were removed, their recorded total counts.
func (r Run) Total(ctx context.Context, bucket store.Bucket, all []Spending) (total Spent, err error) {
	for _, spending := range all {
		total = total.Plus(spending.Spent)
	}
	before, _, err := r.Summary().May(ctx, bucket)

	return Spent{
		Calls:  max(total.Calls, before.Calls),
		Tokens: max(total.Tokens, before.Tokens),
		Money:  max(total.Money, before.Money),

		Estimated: max(total.Estimated, before.Estimated),
	}, err
}
