package lifecycle

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/collabui/collabui/activities"
	"github.com/collabui/collabui/activities/evaluate"
	"github.com/collabui/collabui/activities/play"
	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
)

// CheckPlayable reports early what would otherwise end a run after days: an environment that cannot be opened here, or
// that lacks a split of the run.
func CheckPlayable(ctx context.Context, common activities.Common, suites *play.Suites, specification spec.Spec) error {
	suite, err := suites.Get(ctx, specification.Where(specification.Environment))
	if err != nil {
		return err
	}
	if err := checkQuarantine(specification, suite); err != nil {
		return err
	}
	tests, err := evaluate.TestSplits(specification, suite)
	if err != nil {
		return err
	}
	needed := append([]rules.Split{
		{Name: domain.SplitTrain, Episodes: 1},
		{Name: domain.SplitVal, Episodes: specification.Evaluation.Val},
	}, tests...)
	for _, split := range needed {
		if split.Episodes == 0 {
			continue
		}
		templates, err := suite.Templates(split.Name)
		if err == nil && len(templates) == 0 {
			err = errors.New("it lists no tasks for it")
		}
		if err != nil {
			return fault.New(fault.Invalid,
				"environment %s cannot play split %s (it has %s); evaluation.test_seeds, "+
					"evaluation.test_templates and evaluation.test_apps may be 0: %w",
				specification.Environment, split.Name, strings.Join(suite.Splits(), ", "), err)
		}
	}
	_, _, err = evaluate.AddOtherSplits(ctx, common, suites, specification, nil)

	return err
}

// checkQuarantine refuses a name in quarantine that is no training template.
func checkQuarantine(given spec.Spec, suite envadapters.Suite) error {
	if len(given.Quarantine) == 0 {
		return nil
	}
	templates, err := suite.Templates(domain.SplitTrain)
	if err != nil {
		return err
	}
	for _, name := range given.Quarantine {
		if !slices.ContainsFunc(templates, func(template envadapters.Template) bool { return template.Name == name }) {
			return fault.New(fault.Invalid, "quarantine: environment %s has no training template %q: "+
				"name others in the specification or, if the run has begun, with "+
				"`collabui set %s 'quarantine=[…]'`, and resume it", given.Environment, name, given.Name)
		}
	}

	return nil
}
