package retrain

import (
	"slices"
	"strings"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/retrain"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/records/schedules"
)

// group is a group of templates.
type group struct {
	name      string
	templates []string
}

// groupsOf returns the groups that a gate compares. After a drift, all tasks should become better.
func groupsOf(firing schedules.Firing) []group {
	if len(firing.New) == 0 {
		return []group{{retrain.GroupNew, firing.Old}}
	}
	groups := []group{{retrain.GroupNew, firing.New}}
	if len(firing.Old) > 0 {
		groups = append(groups, group{retrain.GroupOld, firing.Old})
	}

	return groups
}

// gateSplits are the splits whose tasks gates may play, best first.
var gateSplits = []string{domain.SplitTestSeeds, domain.SplitVal}

// gateSplit returns the split whose tasks of a group a gate plays. It is an invalid fault if no split has tasks of the
// group.
func gateSplit(offered runs.Inventory, g group) (string, error) {
	for _, split := range gateSplits {
		inGroup := func(template string) bool { return slices.Contains(g.templates, template) }
		if slices.ContainsFunc(offered.Templates[split], inGroup) {
			return split, nil
		}
	}

	return "", fault.New(fault.Invalid, "environment %s has none of the %s training templates (%s) in %s, so that no "+
		"gate could compare systems on them: let it offer them there, too", offered.Environment, g.name,
		firstNames(g.templates),
		strings.Join(gateSplits, " or "))
}

// checkGate returns an invalid fault if a firing's gate could not be played, so that nothing is trained that could not
// be accepted.
func checkGate(offered runs.Inventory, firing schedules.Firing) error {
	for _, g := range groupsOf(firing) {
		if _, err := gateSplit(offered, g); err != nil {
			return err
		}
	}

	return nil
}

// firstNames returns the first of some names.
func firstNames(names []string) string {
	const shown = 8
	if len(names) > shown {
		return strings.Join(names[:shown], ", ") + ", …"
	}

	return strings.Join(names, ", ")
}
