package training

import "time"

// Pace measures how fast a training job makes optimiser steps, from the first point of its progress to the last.
type Pace struct {
	first, last trainingPoint
}

// trainingPoint is the number of steps that were made at a time.
type trainingPoint struct {
	at    time.Time
	steps int
}

// note notes a point of a job's progress.
func (p *Pace) note(now time.Time, steps int) {
	point := trainingPoint{now, steps}
	switch {
	case steps == 0:
	case p.first.at.IsZero():
		p.first = point
	default:
		p.last = point
	}
}

// PerStep returns the seconds of an optimiser step, or 0 if they are unknown.
func (p *Pace) PerStep() float64 {
	if p.last.steps <= p.first.steps {
		return 0
	}

	return p.last.at.Sub(p.first.at).Seconds() / float64(p.last.steps-p.first.steps)
}
