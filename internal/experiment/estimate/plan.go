// Package plan reckons what a run will take from what a pilot of it took. It is arithmetic only: who runs and reads the pilot is the command line.
package estimate

import (
	"fmt"
	"math"
	"strings"
)

// Sample is what was measured per unit.
type Sample []float64

// mean and the half width of its 95 % interval, relative to it; one value alone knows nothing about its spread and counts as ± 100 %.
func (s Sample) mean() (m, rel float64) {
	if len(s) == 0 {
		return 0, 0
	}
	n := float64(len(s))
	for _, x := range s {
		m += x / n
	}
	if m == 0 {
		return 0, 0
	}
	if len(s) == 1 {
		return m, 1
	}
	ss := 0.0
	for _, x := range s {
		ss += (x - m) * (x - m)
	}
	const t = 2.4 // Student's for the few units of a pilot
	return m, t * math.Sqrt(ss/(n-1)/n) / m
}

// Range is an estimate with what it may well be instead.
type Range struct {
	Low  float64 `json:"low"`
	Mid  float64 `json:"mid"`
	High float64 `json:"high"`
}

// Plus adds: ranges of parts that err together.
func (r Range) Plus(o Range) Range { return Range{r.Low + o.Low, r.Mid + o.Mid, r.High + o.High} }

// around is a figure with a relative half width.
func around(x, rel float64) Range {
	return Range{x * math.Max(0, 1-rel), x, x * (1 + rel)}
}

// Steps is the length of episodes: what the pilot's barely trained policy took, and what an expert takes, which a trained policy comes near to.
type Steps struct {
	Pilot  Sample
	Expert Sample
}

// factor is how many times the pilot's episodes those of the run may be long.
func (s Steps) factor() Range {
	p, rel := s.Pilot.mean()
	f := around(1, rel)
	if e, _ := s.Expert.mean(); e > 0 && p > 0 && e < p {
		f.Low = math.Min(f.Low, e/p)
		f.Mid = (f.Low + f.High) / 2
	}
	return f
}

// Role is one kind of call to a chat endpoint: so many in the pilot for so many units, of which the run has Total. Steps tells whether calls grow with the length of episodes.
type Role struct {
	Name   string
	Unit   string
	Calls  float64 // in the pilot
	Units  float64 // in the pilot
	Total  float64 // units in the run
	Tokens Sample  // per call
	Money  Sample  // per call
	Steps  bool
}

// Phase is work that takes time.
type Phase struct {
	Name    string
	Seconds float64 // in the pilot
	Units   float64 // in the pilot
	Low     float64 // units in the run, at least
	Total   float64 // units in the run, at most
	Steps   bool    // units are episodes, whose length varies
}

// Disk is what is stored.
type Disk struct {
	Name  string
	Bytes float64 // in the pilot
	Units float64
	Low   float64 // units in the run, at least; 0: Total
	Total float64 // at most
	Steps bool
}

// Pilot is what was measured.
type Pilot struct {
	Steps  Steps
	Roles  []Role
	Phases []Phase
	Disks  []Disk
}

// Line is one row of the answer.
type Line struct {
	Name   string `json:"name"`
	Calls  Range  `json:"calls"`
	Tokens Range  `json:"tokens"`
	Money  Range  `json:"money"`
	Hours  Range  `json:"hours"`
	Bytes  Range  `json:"bytes"`
}

// Estimate gives a line per role, phase and kind of object, and their sum at the end. Calls = calls per unit of the pilot × units of the run, × the range of episodes' lengths
// where they grow with it; tokens and money are calls × the mean per call, whose interval widens the range.
func (p Pilot) Estimate() []Line {
	f := p.Steps.factor()
	scale := func(x float64, steps bool) Range {
		if steps {
			return Range{x * f.Low, x * f.Mid, x * f.High}
		}
		return Range{x, x, x}
	}
	times := func(r Range, s Sample) Range {
		m, rel := s.mean()
		return Range{r.Low * m * math.Max(0, 1-rel), r.Mid * m, r.High * m * (1 + rel)}
	}
	var out []Line
	for _, r := range p.Roles {
		if r.Units == 0 || r.Total == 0 {
			continue
		}
		calls := scale(r.Calls/r.Units*r.Total, r.Steps)
		out = append(out, Line{Name: r.Name, Calls: calls, Tokens: times(calls, r.Tokens), Money: times(calls, r.Money)})
	}
	for _, x := range p.Phases {
		if x.Units == 0 {
			continue
		}
		high := scale(x.Seconds/x.Units*x.Total/3600, x.Steps)
		low := scale(x.Seconds/x.Units*x.Low/3600, x.Steps)
		out = append(out, Line{Name: x.Name, Hours: Range{low.Low, (low.Mid + high.Mid) / 2, high.High}})
	}
	for _, d := range p.Disks {
		if d.Units > 0 {
			high := scale(d.Bytes/d.Units*d.Total, d.Steps)
			low := high
			if d.Low > 0 {
				low = scale(d.Bytes/d.Units*d.Low, d.Steps)
			}
			out = append(out, Line{Name: d.Name, Bytes: Range{low.Low, (low.Mid + high.Mid) / 2, high.High}})
		}
	}
	sum := Line{Name: "in all"}
	for _, l := range out {
		sum.Calls, sum.Tokens, sum.Money, sum.Hours, sum.Bytes = sum.Calls.Plus(l.Calls), sum.Tokens.Plus(l.Tokens), sum.Money.Plus(l.Money), sum.Hours.Plus(l.Hours), sum.Bytes.Plus(l.Bytes)
	}
	return append(out, sum)
}

// Text is the table for people.
func Text(lines []Line) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-34s %18s %20s %20s %18s %20s\n", "", "calls", "tokens", "money", "hours", "disk")
	for _, l := range lines {
		fmt.Fprintf(&b, "%-34s %18s %20s %20s %18s %20s\n", l.Name, span(l.Calls, count), span(l.Tokens, count), span(l.Money, func(x float64) string { return fmt.Sprintf("%.2f", x) }), span(l.Hours, hours), span(l.Bytes, bytes))
	}
	return b.String()
}

func span(r Range, f func(float64) string) string {
	switch {
	case r.High == 0:
		return "-"
	case f(r.Low) == f(r.High):
		return f(r.Mid)
	}
	return f(r.Low) + " to " + f(r.High)
}

func count(x float64) string {
	switch {
	case x >= 1e6:
		return fmt.Sprintf("%.1f M", x/1e6)
	case x >= 1e4:
		return fmt.Sprintf("%.0f k", x/1e3)
	}
	return fmt.Sprintf("%.0f", x)
}

func hours(x float64) string {
	if x < 1 {
		return fmt.Sprintf("%.1f min", 60*x)
	}
	return fmt.Sprintf("%.1f h", x)
}

func bytes(x float64) string {
	if x < 1e9 {
		return fmt.Sprintf("%.0f MB", x/1e6)
	}
	return fmt.Sprintf("%.1f GB", x/1e9)
}
