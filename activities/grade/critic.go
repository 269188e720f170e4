package grade

import (
	"context"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/credit"
	"github.com/collabui/collabui/internal/method/spec"
)

// Labeller returns how the steps of a slot's episode are labelled. The answers of a critic that is a model are appended
// to audit.
func (f Feedback) Labeller(
	ctx context.Context, specification spec.Spec, e Episode, audit *[]credit.Audit,
) (Labeller, error) {
	switch {
	case specification.Credit == spec.CreditOutcome:
		return func(_ context.Context, step domain.Step) (domain.Credit, error) {
			return credit.Outcome(step, e.Success), nil
		}, nil
	case specification.Credit == spec.CreditAdvantage:
		return f.advantages(ctx, specification.Name, e)
	case specification.Critic.Model == spec.RoleOracle:
		flips := credit.Flips{Share: specification.Critic.Error, Type: specification.Critic.WrongOn, Seed: e.Slot.Seed}

		return func(_ context.Context, step domain.Step) (domain.Credit, error) {
			labels := credit.Oracle(step)
			if specification.Critic.Messages != spec.MessagesAsActions {
				credit.Unlabel(step, labels.Labels)
			}
			flips.Apply(step.Number, step.Decision.Cells, labels.Labels)

			return labels, nil
		}, nil
	}

	critic, err := f.Endpoints.Critic(specification)

	return func(ctx context.Context, step domain.Step) (domain.Credit, error) {
		labels, answer, err := critic.Label(ctx, step, domain.Seed(e.Slot.Seed, "credit", step.Number))
		if err == nil {
			*audit = append(*audit, answer)
		}

		return labels, err
	}, err
}

// Grader returns how the adversary's candidates are labelled: by the run's critic. The answers of a critic that is a
// model are appended to audit.
func (f Feedback) Grader(specification spec.Spec, slot domain.Slot, audit *[]credit.Audit) (credit.Grade, error) {
	seed := func(step int) uint64 { return credit.CandidatesSeed(slot.Seed, step) }

	return f.grader(specification, slot, seed, audit)
}

// grader returns how answers are labelled by the run's critic. seed returns the seed for a step of a critic that is a
// model.
func (f Feedback) grader(
	specification spec.Spec, slot domain.Slot, seed func(step int) uint64, audit *[]credit.Audit,
) (credit.Grade, error) {
	if specification.Critic.Model == spec.RoleOracle || specification.Credit != spec.CreditCritic {
		flips := credit.Flips{Share: specification.Critic.Error, Type: specification.Critic.WrongOn, Seed: slot.Seed}

		return func(
			ctx context.Context, step domain.Step, labels []domain.Label, candidates []domain.Cell,
		) ([]domain.Label, error) {
			grades, err := credit.OracleGrade(ctx, step, labels, candidates)
			flips.Apply(step.Number, candidates, grades)

			return grades, err
		}, nil
	}

	critic, err := f.Endpoints.Critic(specification)

	return func(
		ctx context.Context, step domain.Step, labels []domain.Label, candidates []domain.Cell,
	) ([]domain.Label, error) {
		grades, answer, err := critic.Candidates(ctx, step, labels, candidates, seed(step.Number))
		if err == nil {
			*audit = append(*audit, answer)
		}

		return grades, err
	}, err
}
