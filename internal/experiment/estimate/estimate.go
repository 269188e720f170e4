// Package estimate estimates the cost of a run from the cost of its pilot. It only computes: package pilot reads the
// pilot.
//
// It does no I/O.
package estimate

import (
	"cmp"
	"math"

	"github.com/collabui/collabui/internal/method/stats"
)

// Steps is the length of episodes: of the pilot, whose policy is barely trained, and of an expert.
type Steps struct {
	Pilot  Sample
	Failed Sample // those of the pilot's episodes that did not succeed
	Expert Sample
}

// The success rates of a run's episodes that an estimate assumes: at least, on average and at most.
const (
	LeastRate = 0.3
	MeanRate  = 0.6
	MostRate  = 0.9
)

// factor returns how long the run's episodes may be, in lengths of the pilot's: those that succeed are assumed to be as
// long as an expert's, and those that fail as long as those that failed in the pilot, but not shorter.
func (s Steps) factor() Range {
	pilot, rel := s.Pilot.mean()
	expert, _ := s.Expert.mean()
	failed, _ := s.Failed.mean()
	if pilot == 0 || expert == 0 {
		return around(1, rel)
	}
	failed = max(failed, expert)
	at := func(rate float64) float64 { return (rate*expert + (1-rate)*failed) / pilot }

	return Range{Low: at(MostRate), Mid: at(MeanRate), High: at(LeastRate)}
}

// Role is one kind of model call.
type Role struct {
	Name   string
	Calls  float64 // in the pilot
	Units  float64 // units of work in the pilot, such as screens or episodes
	Low    float64 // units in the run, at least; 0 means Total
	Total  float64 // units in the run, at most
	Tokens Sample  // per call
	Money  Sample  // per call
	Steps  bool    // calls grow with the length of episodes
}

// Phase is work that takes time. Seconds are those of the pilot.
type Phase struct {
	Name    string
	Work    float64 // seconds of all its activities together
	Wall    float64 // seconds in which any of them ran
	Places  float64 // seconds in which they held places of an environment: a tab of a browser, or an emulator
	Devices float64 // accelerators that each of them holds
	Lanes   float64 // the most activities that ran at once; on average fewer did, as few as Work / Wall in the pilot
	Units   float64 // in the pilot
	Low     float64 // units in the run, at least
	Total   float64 // units in the run, at most
	Steps   bool    // time grows with the length of episodes

	// Jobs of training begin, for example by loading a model, whatever their size.
	Begin   float64 // seconds of each job; Work does not count them
	JobsLow float64 // jobs of the run, at least
	Jobs    float64 // jobs of the run, at most
}

// Begins moves the time that jobs need to begin from the work of a phase, if it is known for how many of the seconds
// they made optimiser steps.
func (p *Phase) Begins(steps, jobs float64) {
	if steps > 0 && steps < p.Work {
		p.Begin, p.Work = (p.Work-steps)/jobs, steps
	}
}

// lanes returns how many of the phase's activities run at once in the run. A pilot is too small to keep all places
// busy.
func (p Phase) lanes() Range {
	mean := 1.0
	if p.Wall > 0 {
		mean = min(max(1, p.Work/p.Wall), p.Lanes)
	}

	return Range{Low: mean, Mid: math.Sqrt(mean * p.Lanes), High: p.Lanes}
}

// line returns what the phase takes in the run.
func (p Phase) line(length Range) Line {
	const hour = 3600.0
	work := between(p.Work/p.Units*p.Low, p.Work/p.Units*p.Total, p.Steps, length)
	work = work.Plus(between(p.Begin*p.JobsLow, p.Begin*p.Jobs, false, length))
	lanes := p.lanes()
	hours := Range{Low: work.Low / lanes.High, Mid: work.Mid / lanes.Mid, High: work.High / lanes.Low}
	places := between(p.Places/p.Units*p.Low, p.Places/p.Units*p.Total, p.Steps, length)

	return Line{
		Name: p.Name, Hours: hours.by(1 / hour), Places: places.by(1 / hour),
		Devices: work.by(p.Devices / hour),
	}
}

// Disk is one kind of stored object.
type Disk struct {
	Name  string
	Bytes float64 // in the pilot
	Units float64 // in the pilot
	Low   float64 // units in the run, at least; 0 means Total
	Total float64 // units in the run, at most
	Steps bool    // size grows with the length of episodes
}

// Pilot is what was measured.
type Pilot struct {
	Steps  Steps
	Roles  []Role
	Phases []Phase
	Disks  []Disk
}

// Line is one row of an estimate.
type Line struct {
	Name   string `json:"name"`
	Calls  Range  `json:"calls"`
	Tokens Range  `json:"tokens"`
	Money  Range  `json:"money"`
	Hours  Range  `json:"hours"`
	// Places are the hours in which places of environments are held: tabs of browsers, or emulators.
	Places Range `json:"place_hours"`
	// Devices are the hours of accelerators that training holds.
	Devices Range `json:"device_hours"`
	Bytes   Range `json:"bytes"`
}

// Estimate returns a line per role, phase and kind of object, then their sum. Calls are those per unit of the pilot,
// times the units of the run, times the range of the episodes' length if they grow with it. Tokens and money are calls
// times the mean per call, whose interval widens the range.
func (p Pilot) Estimate() []Line {
	length := p.Steps.factor()
	var lines []Line
	for _, r := range p.Roles {
		if r.Units > 0 && r.Total > 0 {
			lines = append(lines, r.line(length))
		}
	}
	for _, x := range p.Phases {
		if x.Units > 0 {
			lines = append(lines, x.line(length))
		}
	}
	for _, d := range p.Disks {
		if d.Units > 0 {
			each, low := d.Bytes/d.Units, cmp.Or(d.Low, d.Total)
			lines = append(lines, Line{Name: d.Name, Bytes: between(each*low, each*d.Total, d.Steps, length)})
		}
	}

	return append(lines, sum(lines))
}

// Playing returns the hours that so many episodes of a phase take, and 0 if the pilot played none in it.
func (p Pilot) Playing(phase string, episodes int) Range {
	var out Range
	for _, x := range p.Phases {
		if x.Name == phase && x.Units > 0 {
			x.Low, x.Total = float64(episodes), float64(episodes)
			out = x.line(p.Steps.factor()).Hours
		}
	}

	return out
}

// Took returns what a run took that was measured as if it were its own pilot: the same lines, without ranges.
func (p Pilot) Took() []Line {
	exact := func(x float64) Range { return Range{Low: x, Mid: x, High: x} }
	var lines []Line
	for _, r := range p.Roles {
		lines = append(lines, Line{
			Name: r.Name, Calls: exact(r.Calls), Tokens: exact(r.Calls * stats.Mean(r.Tokens)),
			Money: exact(r.Calls * stats.Mean(r.Money)),
		})
	}
	for _, x := range p.Phases {
		lines = append(lines, Line{
			Name: x.Name, Hours: exact(x.Wall / 3600), Places: exact(x.Places / 3600),
			Devices: exact((x.Work + x.Begin*x.Jobs) * x.Devices / 3600),
		})
	}
	for _, d := range p.Disks {
		lines = append(lines, Line{Name: d.Name, Bytes: exact(d.Bytes)})
	}

	return append(lines, sum(lines))
}

func (r Role) line(length Range) Line {
	each := r.Calls / r.Units
	calls := between(each*cmp.Or(r.Low, r.Total), each*r.Total, r.Steps, length)

	return Line{Name: r.Name, Calls: calls, Tokens: calls.times(r.Tokens), Money: calls.times(r.Money)}
}

// sum returns the last line of an estimate.
func sum(lines []Line) Line {
	all := Line{Name: "in all"}
	for _, l := range lines {
		all.Calls = all.Calls.Plus(l.Calls)
		all.Tokens = all.Tokens.Plus(l.Tokens)
		all.Money = all.Money.Plus(l.Money)
		all.Hours = all.Hours.Plus(l.Hours)
		all.Places = all.Places.Plus(l.Places)
		all.Devices = all.Devices.Plus(l.Devices)
		all.Bytes = all.Bytes.Plus(l.Bytes)
	}

	return all
}
