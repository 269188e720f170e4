package evaluate

import (
	"context"
	"slices"

	"github.com/collabui/collabui/activities"
	"github.com/collabui/collabui/activities/play"
	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
)

// TestSplits returns the test splits of the run's own environment. It fails if the environment does not list its
// splits.
func TestSplits(specification spec.Spec, suite envadapters.Suite) ([]rules.Split, error) {
	splits := []rules.Split{
		{Name: domain.SplitTestSeeds, Episodes: specification.Evaluation.TestSeeds},
		{Name: domain.SplitTestTemplates, Episodes: specification.Evaluation.TestTemplates},
	}
	apps, err := hasApps(suite)
	if apps {
		splits = append(splits, rules.Split{Name: domain.SplitTestApps, Episodes: specification.Evaluation.TestApps})
	}

	return splits, err
}

// hasApps reports whether a suite has the split test-apps. A suite far away that does not answer has no splits, so the
// templates of train are read first.
func hasApps(suite envadapters.Suite) (bool, error) {
	if _, err := suite.Templates(domain.SplitTrain); err != nil {
		return false, err
	}

	return slices.Contains(suite.Splits(), domain.SplitTestApps), nil
}

// AddOtherSplits appends the splits out of distribution to splits, and returns the references for all splits of
// recorded tasks.
func AddOtherSplits(
	ctx context.Context, common activities.Common, suites *play.Suites, given spec.Spec, splits []rules.Split,
) ([]rules.Split, []rules.EvalItem, error) {
	var references []rules.EvalItem
	refer := func(split rules.Split) {
		if split.Episodes > 0 {
			references = append(references, split.Item(given.Name, rules.ReferenceFolder, rules.References()[0]))
		}
	}

	if given.Recorded(common.Catalog, given.Environment) {
		refer(rules.Split{Name: domain.SplitVal, Episodes: given.Evaluation.Val})
		for _, split := range splits {
			refer(split)
		}
	}
	for _, other := range given.Evaluation.OutOfDistribution {
		split := rules.Split{
			Name: other.Split, Episodes: other.Episodes, Environment: other.Environment,
			Options: given.Where(other.Environment),
		}
		suite, err := suites.Get(ctx, split.Options)
		if err != nil {
			return nil, nil, err
		}
		templates, err := suite.Templates(split.Name)
		if err != nil {
			return nil, nil, err
		}
		if split.Episodes == 0 {
			split.Episodes = len(templates)
		}
		splits = append(splits, split)
		if envadapters.ProtocolOf(suite) != "" {
			refer(split)
		}
	}

	return splits, references, nil
}
