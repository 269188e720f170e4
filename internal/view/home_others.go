package view

import (
	"context"
	"strings"
	"time"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/records/lines"
	"github.com/collabui/collabui/internal/records/schedules"
)

// homeExperiment is a line about an experiment.
type homeExperiment struct {
	Name    string    `json:"name"`
	About   string    `json:"about"`
	Arms    int       `json:"arms"`
	Seeds   int       `json:"seeds"`
	Version int       `json:"version"`
	Tested  int       `json:"tested,omitempty"` // the version that has a result, or 0
	Claims  int       `json:"claims"`           // with a result
	Hold    int       `json:"hold"`
	Who     string    `json:"who"`
	At      time.Time `json:"at,omitzero"`
}

func (l *Library) homeExperiment(ctx context.Context, name string) (homeExperiment, error) {
	page, err := l.experiment(ctx, name)
	if err != nil {
		return homeExperiment{}, err
	}
	newest := page.Versions[len(page.Versions)-1]
	line := homeExperiment{
		Name: name, About: newest.Experiment.About, Arms: len(newest.Experiment.Arms), Seeds: newest.Experiment.Seeds,
		Version: newest.Number, Who: newest.Who, At: newest.At,
	}
	if page.Result == nil {
		return line, nil
	}
	line.Tested = page.Result.Version
	for _, row := range page.Result.Rows {
		if row.Claim != "" {
			line.Claims++
		}
		if row.Claim != "" && row.Holds {
			line.Hold++
		}
	}

	return line, nil
}

// homeLine is a line about a line of systems: the system that it accepts, if it accepts one.
type homeLine struct {
	Name    string     `json:"name"`
	Run     string     `json:"run,omitempty"`
	Epoch   int        `json:"epoch,omitempty"`
	Entries int        `json:"entries"`
	Who     string     `json:"who,omitempty"`
	Why     string     `json:"why,omitempty"`
	At      time.Time  `json:"at,omitzero"`
	Val     *float64   `json:"val,omitempty"`
	Tests   []homeRate `json:"tests,omitempty"`
}

func (l *Library) homeLine(ctx context.Context, name string) (homeLine, error) {
	page, err := l.line(ctx, name)
	line := homeLine{Name: name, Entries: len(page.Entries)}
	if err != nil || page.Current == 0 {
		return line, err
	}
	var now lines.Entry
	for _, entry := range page.Entries {
		if entry.Number == page.Current {
			now = entry
		}
	}
	line.Run = now.System.Run
	line.Epoch = now.System.Epoch
	line.Who = now.Who
	line.Why = now.Why
	line.At = now.At
	for _, result := range now.Results {
		switch {
		case result.Episodes == 0 || result.Environment != "" || result.Protocol != "":
		case result.Split == domain.SplitVal:
			line.Val = &result.Rate
		default:
			line.Tests = append(line.Tests, homeRate{result.Split, result.Rate})
		}
	}

	return line, nil
}

// homeSchedule is a line about a schedule, with the outcome of its newest firing.
type homeSchedule struct {
	Name        string    `json:"name"`
	Line        string    `json:"line"`
	Environment string    `json:"environment"`
	When        string    `json:"when"`
	Who         string    `json:"who"`
	Outcome     string    `json:"outcome,omitempty"`
	Why         string    `json:"why,omitempty"`
	Run         string    `json:"run,omitempty"`
	At          time.Time `json:"at,omitzero"` // of the outcome
}

func (l *Library) homeSchedule(ctx context.Context, name string) (homeSchedule, error) {
	schedule := schedules.Schedule(name)
	newest, err := schedule.Newest(ctx, l.Bucket)
	if err != nil {
		return homeSchedule{}, err
	}
	when := newest.Schedule.When
	times := when.Cron
	if when.Every != "" {
		times = append([]string{"every " + when.Every}, times...)
	}
	line := homeSchedule{
		Name: name, Line: newest.Schedule.Line, Environment: newest.Schedule.Environment,
		When: strings.Join(times, ", "), Who: newest.Who,
	}
	err = schedule.Backward(ctx, l.Bucket, func(outcome schedules.Outcome) bool {
		line.Outcome = outcome.Verb
		line.Why = outcome.Why
		line.Run = outcome.Run
		line.At = outcome.At

		return false
	})

	return line, err
}
