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

// Capability is what an environment can do beyond reset and step.
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

// Describe describes a suite. It opens an environment and resets the first task, because whether an episode can be
// replayed is known only then.
func Describe(s envadapters.Suite) (Description, error) {
	d := Description{
		Profile:      Profile,
		Suite:        s.Name(),
		Title:        s.Title(),
		Family:       string(s.Family()),
		Recorded:     envadapters.ProtocolOf(s),
		Splits:       s.Splits(),
		Capabilities: []Capability{},
	}

	for _, split := range d.Splits {
		ts, err := s.Templates(split)
		if err != nil {
			return d, err
		}
		for _, t := range ts {
			d.Tasks = append(d.Tasks, Task{Name: t.Name, Group: t.Group, Split: split, MaxSteps: t.MaxSteps})
		}
	}

	if v, ok := s.(envadapters.Versioned); ok {
		var err error
		if d.Version, err = v.Version(context.Background()); err != nil {
			return d, err
		}
	}

	can, err := abilities(s, d.Tasks)
	if err != nil {
		return d, err
	}

	add := func(has bool, c Capability) {
		if has {
			d.Capabilities = append(d.Capabilities, c)
		}
	}
	add(can.Replayable, CapReplayable)
	add(can.Expert != nil, CapExpert)
	add(can.Judge != nil, CapJudge)
	add(can.Screenshotter != nil, CapScreenshot)

	return d, nil
}

// abilities opens an environment, resets the first task and returns what the environment can do.
func abilities(s envadapters.Suite, tasks []Task) (envadapters.Abilities, error) {
	ctx, cancel := context.WithTimeout(context.Background(), describeLimit)
	defer cancel()

	env, err := s.Open(ctx)
	if err != nil {
		return envadapters.Abilities{}, err
	}
	defer env.Close(ctx)

	if len(tasks) > 0 {
		x := tasks[0]
		t := domain.Task{Suite: s.Name(), Template: x.Name, Split: x.Split, Seed: 1, MaxSteps: x.MaxSteps}
		if _, err := env.Reset(ctx, t); err != nil {
			return envadapters.Abilities{}, err
		}
	}

	return envadapters.Can(env), nil
}
