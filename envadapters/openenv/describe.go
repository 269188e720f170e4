package openenv

import (
	"context"
	"time"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
)

// Description describes a server's suite: the data of a state frame.
type Description struct {
	Profile      string       `json:"profile"`
	Suite        string       `json:"suite"`
	Title        string       `json:"title"`
	Family       string       `json:"family"`
	Version      string       `json:"version,omitempty"`
	Recorded     string       `json:"recorded,omitempty"`
	Splits       []string     `json:"splits"`
	Tasks        []Task       `json:"tasks"`
	Capabilities []Capability `json:"capabilities"`
}

// Task is a task that a server lists.
type Task struct {
	Name     string `json:"name"`
	Group    string `json:"group,omitempty"`
	Split    string `json:"split"`
	MaxSteps int    `json:"max_steps"`
}

// Capability is an ability of an environment beyond reset and step.
type Capability string

// The capabilities.
const (
	CapScreenshot Capability = "screenshot"
	CapReplayable Capability = "replayable"
	CapExpert     Capability = "expert"
	CapJudge      Capability = "judge"
)

// describeLimit bounds how long opening and resetting one environment may take.
const describeLimit = 30 * time.Second

// Describe describes a suite. It opens an environment and resets it to the first task, because only then is it known
// whether an episode can be replayed.
func Describe(suite envadapters.Suite) (Description, error) {
	d := Description{
		Profile:      Profile,
		Suite:        suite.Name(),
		Title:        suite.Title(),
		Family:       string(suite.Family()),
		Recorded:     envadapters.ProtocolOf(suite),
		Splits:       suite.Splits(),
		Capabilities: []Capability{},
	}

	for _, split := range d.Splits {
		ts, err := suite.Templates(split)
		if err != nil {
			return d, err
		}
		for _, t := range ts {
			d.Tasks = append(d.Tasks, Task{Name: t.Name, Group: t.Group, Split: split, MaxSteps: t.MaxSteps})
		}
	}

	if versioned, ok := suite.(envadapters.Versioned); ok {
		var err error
		if d.Version, err = versioned.Version(context.Background()); err != nil {
			return d, err
		}
	}

	can, err := abilities(suite, d.Tasks)
	if err != nil {
		return d, err
	}

	add := func(has bool, capability Capability) {
		if has {
			d.Capabilities = append(d.Capabilities, capability)
		}
	}
	add(can.Replayable, CapReplayable)
	add(can.Expert != nil, CapExpert)
	add(can.Judge != nil, CapJudge)
	add(can.Screenshotter != nil, CapScreenshot)

	return d, nil
}

// abilities opens an environment, resets it to the first task and returns its abilities.
func abilities(suite envadapters.Suite, tasks []Task) (envadapters.Abilities, error) {
	ctx, cancel := context.WithTimeout(context.Background(), describeLimit)
	defer cancel()

	env, err := suite.Open(ctx)
	if err != nil {
		return envadapters.Abilities{}, err
	}
	defer env.Close(ctx)

	if len(tasks) > 0 {
		task := tasks[0]
		t := domain.Task{Suite: suite.Name(), Template: task.Name, Split: task.Split, Seed: 1, MaxSteps: task.MaxSteps}
		if _, err := env.Reset(ctx, t); err != nil {
			return envadapters.Abilities{}, err
		}
	}

	return envadapters.Can(env), nil
}
