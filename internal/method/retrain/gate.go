package retrain

import (
	"fmt"
	"math"
	"strings"

	"github.com/collabui/collabui/internal/method/stats"
)

// Group is how the accepted and the re-trained system did on the same episodes of some tasks.
type Group struct {
	Name     string  `json:"name"` // GroupNew or GroupOld
	Episodes int     `json:"episodes"`
	OnlyOld  int     `json:"only_old"` // episodes that only the accepted system did right
	OnlyNew  int     `json:"only_new"`
	Old      float64 `json:"old"` // success rates
	New      float64 `json:"new"`
	Mean     float64 `json:"mean"` // of the difference, new − old
	Low      float64 `json:"low"`  // of its interval at 95 %
	High     float64 `json:"high"`

	Tasks []Task `json:"tasks"` // by template
}

// The groups of tasks.
const (
	GroupNew = "new"
	GroupOld = "old"
)

// Task is what a group has of one template.
type Task struct {
	Template string `json:"template"`
	Episodes int    `json:"episodes"`
	OnlyOld  int    `json:"only_old"`
	OnlyNew  int    `json:"only_new"`
}

// PairedEpisode is one episode that both systems played.
type PairedEpisode struct {
	Template string
	Old, New bool // success
}

// NewGroup compares both systems on paired episodes. Tasks are in the order in which they first occur.
func NewGroup(name string, pairs []PairedEpisode) Group {
	group := Group{Name: name, Episodes: len(pairs), Tasks: []Task{}}
	at := map[string]int{}
	each := []float64{}
	for _, pair := range pairs {
		i, known := at[pair.Template]
		if !known {
			i = len(group.Tasks)
			at[pair.Template] = i
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
		each = append(each, diff)
	}
	if len(pairs) >= 2 {
		group.Old = group.Old / float64(len(pairs))
		group.New = group.New / float64(len(pairs))
		group.Mean, group.Low, group.High = stats.TInterval(each)
	}

	return group
}

// Evidence is what the gate decides upon.
type Evidence struct {
	Groups []Group `json:"groups"`

	TokensOld float64 `json:"tokens_old"` // per episode
	TokensNew float64 `json:"tokens_new"`
}

// Check is one condition of the gate.
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

// Why returns the verdict in a sentence: the conditions that failed, or those that passed.
func (v Verdict) Why() string {
	var said []string
	for _, check := range v.Checks {
		if check.Passed == v.Accepted {
			said = append(said, check.Text)
		}
	}

	return strings.Join(said, "; ")
}

// harm is the level at which one old task counts as worse, divided by the number of old tasks (Bonferroni).
const harm = 0.05

// enough is the share of the episodes of a group that both systems must have played: what is missing is seldom drawn by
// chance.
const enough = 0.9

// Decide applies the gate to the evidence.
func (g GateSettings) Decide(evidence Evidence) Verdict {
	verdict := Verdict{Accepted: true}
	say := func(name string, passed bool, format string, args ...any) {
		verdict.Checks = append(verdict.Checks, Check{Name: name, Passed: passed, Text: fmt.Sprintf(format, args...)})
		verdict.Accepted = verdict.Accepted && passed
	}
	for _, group := range evidence.Groups {
		interval := fmt.Sprintf("%+.1f [%+.1f, %+.1f] points on %d episodes of %s tasks",
			100*group.Mean, 100*group.Low, 100*group.High, group.Episodes, group.Name)
		least := max(2, int(math.Ceil(enough*float64(g.Episodes))))
		if group.Episodes < least {
			interval += fmt.Sprintf(", fewer than %d of %d", least, g.Episodes)
		}
		if group.Name == GroupNew {
			say("better on new tasks", group.Episodes >= least && group.Low > g.Margin,
				"%s, margin %.1f", interval, 100*g.Margin)

			continue
		}
		say("as good on old tasks", group.Episodes >= least && group.Low > -g.Tolerance,
			"%s, tolerance %.1f", interval, 100*g.Tolerance)
		for _, task := range group.Tasks {
			if p := stats.SignTest(task.OnlyOld, task.OnlyNew); p < harm/float64(len(group.Tasks)) {
				say("no old task is worse", false, "%s is worse: %d episodes lost, %d won (p = %.1g)",
					task.Template, task.OnlyOld, task.OnlyNew, p)
			}
		}
	}

	if g.Cost > 0 && evidence.TokensOld > 0 {
		ratio := evidence.TokensNew / evidence.TokensOld
		say("cost", ratio <= g.Cost, "%.2f times the tokens per episode, limit %.2f", ratio, g.Cost)
	}

	return verdict
}
