package retrain

import (
	"fmt"
	"math"
	"strings"

	"github.com/collabui/collabui/internal/method/stats"
)

// Group compares the accepted and the re-trained system on the same episodes of some tasks.
type Group struct {
	Name     string  `json:"name"` // GroupNew or GroupOld
	Episodes int     `json:"episodes"`
	OnlyOld  int     `json:"only_old"` // episodes that only the accepted system solved
	OnlyNew  int     `json:"only_new"` // episodes that only the re-trained system solved
	Old      float64 `json:"old"`      // success rate of the accepted system
	New      float64 `json:"new"`      // success rate of the re-trained system
	Mean     float64 `json:"mean"`     // mean of the differences new − old
	Low      float64 `json:"low"`      // bounds of its interval at 95 %
	High     float64 `json:"high"`

	Tasks []Task `json:"tasks"` // one per template
}

// Names of groups of tasks.
const (
	GroupNew = "new"
	GroupOld = "old"
)

// Task counts a group's episodes of one template.
type Task struct {
	Template string `json:"template"`
	Episodes int    `json:"episodes"`
	OnlyOld  int    `json:"only_old"`
	OnlyNew  int    `json:"only_new"`
}

// PairedEpisode holds the outcomes of one episode that both systems played.
type PairedEpisode struct {
	Template string
	Old, New bool // success of the accepted and of the re-trained system
}

// NewGroup compares both systems on paired episodes. Tasks are listed in the order in which they first occur.
func NewGroup(name string, pairs []PairedEpisode) Group {
	group := Group{Name: name, Episodes: len(pairs), Tasks: []Task{}}
	index := map[string]int{}
	differences := []float64{}
	for _, pair := range pairs {
		i, exists := index[pair.Template]
		if !exists {
			i = len(group.Tasks)
			index[pair.Template] = i
			group.Tasks = append(group.Tasks, Task{Template: pair.Template})
		}
		task := &group.Tasks[i]
		diff := 0.0
		task.Episodes++
		if pair.Old {
			group.Old++
		}
		if pair.New {
			group.New++
		}
		switch {
		case pair.Old && !pair.New:
			diff = -1
			task.OnlyOld++
			group.OnlyOld++
		case pair.New && !pair.Old:
			diff = 1
			task.OnlyNew++
			group.OnlyNew++
		}
		differences = append(differences, diff)
	}
	if len(pairs) >= 2 {
		group.Old = group.Old / float64(len(pairs))
		group.New = group.New / float64(len(pairs))
		group.Mean, group.Low, group.High = stats.TInterval(differences)
	}

	return group
}

// Evidence is the input of the gate's decision.
type Evidence struct {
	Groups []Group `json:"groups"`

	TokensOld float64 `json:"tokens_old"` // tokens per episode
	TokensNew float64 `json:"tokens_new"`
}

// Check is the result of one condition of the gate.
type Check struct {
	Name   string `json:"name"`
	Passed bool   `json:"passed"`
	Text   string `json:"text"`
}

// Verdict is the decision of the gate.
type Verdict struct {
	Accepted bool    `json:"accepted"`
	Checks   []Check `json:"checks"`
}

// Why returns the reason for the verdict: the conditions that passed if it accepts, and otherwise those that failed.
func (v Verdict) Why() string {
	var reasons []string
	for _, check := range v.Checks {
		if check.Passed == v.Accepted {
			reasons = append(reasons, check.Text)
		}
	}

	return strings.Join(reasons, "; ")
}

// harmLevel is the significance level, over all old tasks, at which one of them counts as worse. It is divided by their
// number (Bonferroni).
const harmLevel = 0.05

// minPlayed is the share of a group's episodes that both systems must have played, because missing episodes are rarely
// missing at random.
const minPlayed = 0.9

// Decide applies the gate to the evidence.
func (g GateSettings) Decide(evidence Evidence) Verdict {
	verdict := Verdict{Accepted: true}
	check := func(name string, passed bool, format string, args ...any) {
		verdict.Checks = append(verdict.Checks, Check{Name: name, Passed: passed, Text: fmt.Sprintf(format, args...)})
		verdict.Accepted = verdict.Accepted && passed
	}
	for _, group := range evidence.Groups {
		interval := fmt.Sprintf("%+.1f [%+.1f, %+.1f] points on %d episodes of %s tasks",
			100*group.Mean, 100*group.Low, 100*group.High, group.Episodes, group.Name)
		least := max(2, int(math.Ceil(minPlayed*float64(g.Episodes))))
		if group.Episodes < least {
			interval += fmt.Sprintf(", fewer than %d of %d", least, g.Episodes)
		}
		if group.Name == GroupNew {
			check("better on new tasks", group.Episodes >= least && group.Low > g.Margin,
				"%s, margin %.1f", interval, 100*g.Margin)

			continue
		}
		check("as good on old tasks", group.Episodes >= least && group.Low > -g.Tolerance,
			"%s, tolerance %.1f", interval, 100*g.Tolerance)
		for _, task := range group.Tasks {
			if p := stats.SignTest(task.OnlyOld, task.OnlyNew); p < harmLevel/float64(len(group.Tasks)) {
				check("no old task is worse", false, "%s is worse: %d episodes lost, %d won (p = %.1g)",
					task.Template, task.OnlyOld, task.OnlyNew, p)
			}
		}
	}

	if g.Cost > 0 && evidence.TokensOld > 0 {
		ratio := evidence.TokensNew / evidence.TokensOld
		check("cost", ratio <= g.Cost, "%.2f times the tokens per episode, limit %.2f", ratio, g.Cost)
	}

	return verdict
}
