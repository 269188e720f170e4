package view

import (
	"context"
	"errors"
	"path"
	"time"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/lines"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
)

// homePage is the content of the first page: a line about every run, experiment, line and schedule.
type homePage struct {
	Runs        []homeRun        `json:"runs"`
	Experiments []homeExperiment `json:"experiments"`
	Lines       []homeLine       `json:"lines"`
	Schedules   []homeSchedule   `json:"schedules"`
}

// homeRun is a line about a run. What the store does not know is missing.
type homeRun struct {
	Name        string            `json:"name"`
	State       string            `json:"state"`
	Reason      string            `json:"reason,omitempty"` // why it is in that state
	Epoch       int               `json:"epoch"`            // committed
	Epochs      int               `json:"epochs"`
	Environment string            `json:"environment"`
	Agents      int               `json:"agents"`
	Curve       []runs.EvalPoint  `json:"curve"`           // val by epoch; 0 is the base
	Tests       []homeRate        `json:"tests,omitempty"` // of the trained system
	Best        string            `json:"best,omitempty"`  // the evaluation of the best epoch on val
	Began       time.Time         `json:"began,omitzero"`
	Ended       time.Time         `json:"ended,omitzero"`
	Who         string            `json:"who,omitempty"`
	Fork        string            `json:"fork,omitempty"` // RUN@EPOCH that it continues
	Lines       []string          `json:"lines,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
}

// homeRate is a success rate on a test split.
type homeRate struct {
	Split string  `json:"split"`
	Rate  float64 `json:"rate"`
}

// RunState is what is known about a run from outside of the store.
type RunState struct{ State, Reason string }

const (
	stateFinished = "finished"
	stateUnknown  = "unknown"
)

// home returns the first page about things with the given names.
func (l *Library) home(ctx context.Context, names Names) (homePage, error) {
	page := homePage{
		Runs: []homeRun{}, Experiments: []homeExperiment{}, Lines: []homeLine{}, Schedules: []homeSchedule{},
	}
	accepted := map[string][]string{} // names of lines by run
	err := eachNamed(ctx, names.Lines, l.homeLine, func(line homeLine) {
		page.Lines = append(page.Lines, line)
		if line.Run != "" {
			accepted[line.Run] = append(accepted[line.Run], line.Name)
		}
	})
	if err != nil {
		return page, err
	}
	err = eachNamed(ctx, names.Runs, l.homeRun, func(run homeRun) {
		run.Lines = accepted[run.Name]
		page.Runs = append(page.Runs, run)
	})
	if err != nil {
		return page, err
	}
	err = eachNamed(ctx, names.Experiments, l.homeExperiment, func(experiment homeExperiment) {
		page.Experiments = append(page.Experiments, experiment)
	})
	if err != nil {
		return page, err
	}
	err = eachNamed(ctx, names.Schedules, l.homeSchedule, func(schedule homeSchedule) {
		page.Schedules = append(page.Schedules, schedule)
	})
	l.addStates(ctx, page.Runs)

	return page, err
}

// eachNamed reads what has the names, some at a time, and calls use in order. Names of what was deleted meanwhile are
// skipped.
func eachNamed[T any](
	ctx context.Context, names []string, read func(ctx context.Context, name string) (T, error), use func(T),
) error {
	type found struct {
		line   T
		exists bool
	}
	one := func(ctx context.Context, i int) (found, error) {
		line, err := read(ctx, names[i])
		if errors.Is(err, store.ErrNotFound) {
			return found{}, nil
		}

		return found{line, true}, err
	}

	return store.InOrder(ctx, len(names), one, func(_ int, x found) error {
		if x.exists {
			use(x.line)
		}

		return nil
	})
}

// homeRun reads the line about a run.
func (l *Library) homeRun(ctx context.Context, name string) (homeRun, error) {
	run := runs.Run(name)
	specification, err := run.Current(ctx, l.Bucket)
	if err != nil {
		return homeRun{}, err
	}
	line := homeRun{
		Name: name, State: stateUnknown, Epochs: specification.Epochs, Environment: specification.Environment,
		Agents: specification.Agents, Labels: specification.Labels, Curve: []runs.EvalPoint{},
	}
	if line.Began, err = l.written(ctx, run.Spec().Key); err != nil {
		return line, err
	}
	if claim, exists, err := run.Claim(1).May(ctx, l.Bucket); err != nil {
		return line, err
	} else if exists {
		line.Who = claim.Who
	}
	if origin, forked, err := run.Origin().May(ctx, l.Bucket); err != nil {
		return line, err
	} else if forked {
		line.Who = origin.Who
		line.Fork = lines.SystemRef{Run: origin.Run, Epoch: origin.Epoch}.String()
	}
	end, ended, err := run.End().May(ctx, l.Bucket)
	if err != nil {
		return line, err
	}
	if !ended {
		return line, line.readEpochs(ctx, l.Bucket, specification)
	}

	line.State = stateFinished
	line.Epoch = specification.Epochs
	line.Curve = append(line.Curve, end.Curve...)
	line.Best = path.Join(rules.EpochFolder(end.Best), rules.ValName(specification, end.Best), domain.SplitVal)
	system := rules.TrainedName(specification.Agents)
	if end.Best == 0 {
		system = rules.BaseName(specification.Agents)
	}
	for _, result := range end.Results {
		isTest := result.Split != domain.SplitVal && result.Environment == "" && result.Protocol == ""
		if isTest && result.System == system && result.Episodes > 0 {
			line.Tests = append(line.Tests, homeRate{result.Split, result.Rate})
		}
	}
	line.Ended, err = l.written(ctx, run.End().Key)

	return line, err
}

// readEpochs reads the curve of a run that has not ended.
func (r *homeRun) readEpochs(ctx context.Context, bucket store.Bucket, specification spec.Spec) error {
	run := runs.Run(r.Name)
	best := -1.0
	for number := 0; ; number++ {
		if number > 0 {
			epoch, committed, err := run.Epoch(number).May(ctx, bucket)
			if err != nil || !committed {
				return err
			}
			r.Epoch = number
			if epoch.Val == nil {
				continue
			}
		}
		id := path.Join(rules.EpochFolder(number), rules.ValName(specification, number), domain.SplitVal)
		val, played, err := run.Result(id).May(ctx, bucket)
		if err != nil {
			return err
		}
		if !played || val.Episodes == 0 {
			continue
		}
		r.Curve = append(r.Curve, runs.EvalPoint{At: number, Rate: val.Rate})
		if val.Rate > best {
			best = val.Rate
			r.Best = id
		}
	}
}

// addStates adds the states of the runs that have not finished.
func (l *Library) addStates(ctx context.Context, all []homeRun) {
	var open []string
	for _, run := range all {
		if run.State != stateFinished {
			open = append(open, run.Name)
		}
	}
	if len(open) == 0 || l.States == nil {
		return
	}
	states := l.States(ctx, open)
	for i := range all {
		if state, ok := states[all[i].Name]; ok {
			all[i].State = state.State
			all[i].Reason = state.Reason
		}
	}
}

// written returns when the store received an object, or a zero time if there is none or the store does not know.
func (l *Library) written(ctx context.Context, key string) (time.Time, error) {
	clock, ok := l.Bucket.(interface {
		Written(ctx context.Context, key string) (time.Time, error)
	})
	if !ok {
		return time.Time{}, nil
	}
	at, err := clock.Written(ctx, key)
	if errors.Is(err, store.ErrNotFound) {
		return time.Time{}, nil
	}

	return at.UTC(), err
}

// costs returns the cost of the calls to chat endpoints, by run, of all runs that make such calls. It reads every call.
func (l *Library) costs(ctx context.Context, names []string) (map[string]runs.Spent, error) {
	type spending struct {
		runs.Spent
		name  string
		calls bool
	}
	read := func(ctx context.Context, name string) (spending, error) {
		run := runs.Run(name)
		specification, err := run.Current(ctx, l.Bucket)
		if err != nil || len(specification.Models) == 0 {
			return spending{}, err
		}
		spent, err := run.Spent(ctx, l.Bucket)

		return spending{spent, name, true}, err
	}
	out := map[string]runs.Spent{}
	err := eachNamed(ctx, names, read, func(x spending) {
		if x.calls {
			out[x.name] = x.Spent
		}
	})

	return out, err
}
