// Package estimate estimates the cost of a run from the cost of its pilot. It only computes: package pilot reads the
// pilot.
//
// It imports internal/method/stats. It does no I/O.
package estimate

import "math"

// Steps is the length of episodes: of the pilot, whose policy is barely trained, and of an expert, which a trained
// policy approaches.
type Steps struct {
	Pilot  Sample
	Expert Sample
}

// factor returns how long the run's episodes may be, in lengths of the pilot's.
func (s Steps) factor() Range {
	pilot, rel := s.Pilot.mean()
	f := around(1, rel)
	if expert, _ := s.Expert.mean(); expert > 0 && pilot > 0 && expert < pilot {
		f.Low = math.Min(f.Low, expert/pilot)
		f.Mid = (f.Low + f.High) / 2
	}

	return f
}

// Role is one kind of model call.
type Role struct {
	Name   string
	Calls  float64 // in the pilot
	Units  float64 // units of work in the pilot, such as screens or episodes
	Total  float64 // units in the run
	Tokens Sample  // per call
	Money  Sample  // per call
	Steps  bool    // calls grow with the length of episodes
}

// Phase is work that takes time.
type Phase struct {
	Name    string
	Seconds float64 // in the pilot
	Units   float64 // in the pilot
	Low     float64 // units in the run, at least
	Total   float64 // units in the run, at most
	Steps   bool    // time grows with the length of episodes
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
	Bytes  Range  `json:"bytes"`
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
			perUnit := x.Seconds / x.Units / 3600
			lines = append(lines, Line{Name: x.Name, Hours: between(perUnit*x.Low, perUnit*x.Total, x.Steps, length)})
		}
	}
	for _, d := range p.Disks {
		if d.Units > 0 {
			low := d.Low
			if low == 0 {
				low = d.Total
			}
			perUnit := d.Bytes / d.Units
			lines = append(lines, Line{Name: d.Name, Bytes: between(perUnit*low, perUnit*d.Total, d.Steps, length)})
		}
	}

	return append(lines, sum(lines))
}

func (r Role) line(length Range) Line {
	calls := scale(r.Calls/r.Units*r.Total, r.Steps, length)

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
		all.Bytes = all.Bytes.Plus(l.Bytes)
	}

	return all
}
