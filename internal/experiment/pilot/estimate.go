package pilot

import (
	"fmt"
	"time"
)

// Within is the factor by which the figures of an estimate may be wrong. TestKillWithModels compares calls, tokens,
// money and bytes with the cost of the run.
const Within = 2

// Line is the cost of one kind of work.
type Line struct {
	Name    string  `json:"name"`
	Calls   float64 `json:"calls"`
	Tokens  float64 `json:"tokens"`
	Money   float64 `json:"money"`
	Hours   float64 `json:"hours"`
	Places  float64 `json:"place_hours"`  // in which tabs of browsers or emulators are occupied
	Devices float64 `json:"device_hours"` // in which training occupies accelerators
	Bytes   float64 `json:"bytes"`
}

// Plus returns the sum of the line and a multiple of another line.
func (l Line) Plus(line Line, times float64) Line {
	l.Calls += times * line.Calls
	l.Tokens += times * line.Tokens
	l.Money += times * line.Money
	l.Hours += times * line.Hours
	l.Places += times * line.Places
	l.Devices += times * line.Devices
	l.Bytes += times * line.Bytes

	return l
}

// Work is one kind of work: its cost in the pilot, and the factor from the pilot to the run.
type Work struct {
	Line

	Times float64
}

// Works are the measurements of a pilot.
type Works []Work

// Estimate returns the cost of each kind of work in the run, and then their sum.
func (all Works) Estimate() []Line { return all.lines(func(work Work) float64 { return work.Times }) }

// Took returns the cost of each kind of work in the measured run, and then their sum.
func (all Works) Took() []Line { return all.lines(func(Work) float64 { return 1 }) }

// lines returns a multiple of each kind of work, and then their sum. It leaves out multiples of 0.
func (all Works) lines(times func(Work) float64) []Line {
	var lines []Line
	sum := Line{Name: "in all"}
	for _, work := range all {
		if count := times(work); count > 0 {
			lines = append(lines, Line{Name: work.Name}.Plus(work.Line, count))
			sum = sum.Plus(work.Line, count)
		}
	}

	return append(lines, sum)
}

// Text returns the lines as a table.
func Text(lines []Line) string {
	clock := func(hours float64) string {
		return time.Duration(hours * float64(time.Hour)).Round(time.Second).String()
	}
	text := fmt.Sprintf("%-40s %9s %12s %9s %10s %10s %10s %8s\n",
		"", "calls", "tokens", "money", "time", "of places", "of GPUs", "MB")
	for _, l := range lines {
		text += fmt.Sprintf("%-40s %9.0f %12.0f %9.2f %10s %10s %10s %8.0f\n",
			l.Name, l.Calls, l.Tokens, l.Money, clock(l.Hours), clock(l.Places), clock(l.Devices), l.Bytes/1e6)
	}

	return text
}
