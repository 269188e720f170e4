package agents

import "github.com/collabui/collabui/domain"

// Count returns the majority vote over canonical actions (docs/method.md, Votes). order lists the agents in speaking
// order. The rule is total and not random: a tie goes to the action with more votes in the last round, then to the
// action that comes first when cells are scanned from the last round to the first and, within a round, in reverse
// speaking order. Cells that do not parse and acts of speech have no vote.
func Count(cells []domain.Cell, rounds int, order []int, lastOnly bool) domain.Vote {
	all := map[string]int{}
	last := map[string]int{}
	for _, cell := range cells {
		if !cell.Votes() || (lastOnly && cell.Round != rounds-1) {
			continue
		}
		all[cell.Canonical]++
		if cell.Round == rounds-1 {
			last[cell.Canonical]++
		}
	}

	best := domain.Vote{}
	for j := rounds - 1; j >= 0; j-- {
		for k := len(order) - 1; k >= 0; k-- {
			c := cells[order[k]*rounds+j]
			if !c.Votes() || all[c.Canonical] == 0 || c.Canonical == best.Canonical {
				continue
			}

			// The scan order is the last tie rule: only a strictly better action replaces the first one found.
			tied := all[c.Canonical] == best.Votes && last[c.Canonical] > last[best.Canonical]
			if best.Votes == 0 || all[c.Canonical] > best.Votes || tied {
				best = domain.Vote{Canonical: c.Canonical, Votes: all[c.Canonical]}
			}
		}
	}
	best.Rule = rule(best, all, last)

	return best
}

// rule names the rule that decided a vote.
func rule(best domain.Vote, all, last map[string]int) string {
	isTied := false
	isTiedInLastRound := false
	for key, n := range all {
		if key != best.Canonical && n == best.Votes {
			isTied = true
			isTiedInLastRound = isTiedInLastRound || last[key] == last[best.Canonical]
		}
	}

	switch {
	case best.Votes == 0:
		return "none"
	case !isTied:
		return "majority"
	case !isTiedInLastRound:
		return "last-round"
	}

	return "scan"
}
