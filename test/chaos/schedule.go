package chaos

import (
	"context"
	"fmt"
	"path/filepath"
	"syscall"
	"time"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/failpoint"
	"github.com/collabui/collabui/test/kit/pipeline"
)

// FaultKind is a kind of fault, as named in the table.
type FaultKind string

// perRun is the number of faults of a run.
const perRun = 3

// point is a failpoint of the worker.
type point struct {
	kind    FaultKind
	setting string
	file    string // exists once the failpoint has struck
}

// event is a fault that strikes when the run has made a given number of requests to S3.
type event struct {
	kind   FaultKind
	at     int64
	struck bool
	strike func(ctx context.Context, run string) error
}

// Kinds returns all kinds of faults.
func (c *Cell) Kinds() []FaultKind {
	var out []FaultKind
	for _, verb := range failpoint.Verbs {
		out = append(out, pointKind(verb))
	}
	for _, e := range c.faults() {
		out = append(out, e.kind)
	}

	return out
}

func pointKind(verb failpoint.Verb) FaultKind { return FaultKind("failpoint: " + string(verb)) }

// schedule returns the faults of a seed. Consecutive seeds go through all kinds in turn.
func (c *Cell) schedule(seed uint64) (points []point, events []*event) {
	rand := domain.Rand(seed, "chaos")
	kinds := len(failpoint.Verbs) + len(c.faults())
	for i := range perRun {
		n := (int(seed)*perRun + i) % kinds
		if n < len(failpoint.Verbs) {
			verb := failpoint.Verbs[n]
			place := c.Places[rand.IntN(len(c.Places))]
			file := filepath.Join(c.pipeline.Dir, fmt.Sprintf("struck-%d-%d", seed, i))
			setting := fmt.Sprintf("%s@%d=%s:%s", place, 1+rand.IntN(2), verb, file)
			points = append(points, point{pointKind(verb), setting, file})
			continue
		}
		e := c.faults()[n-len(failpoint.Verbs)]
		e.at = rand.Int64N(c.Requests)
		events = append(events, e)
	}

	return points, events
}

// How long connections are refused or held.
const (
	refused = 3 * time.Second
	onHold  = 4 * time.Second
)

// faults returns one fault of each kind, except failpoints.
func (c *Cell) faults() []*event {
	var out []*event
	add := func(kind string, do func()) {
		out = append(out, &event{kind: FaultKind(kind), strike: func(context.Context, string) error {
			do()

			return nil
		}})
	}
	for _, name := range []string{pipeline.Worker, pipeline.Temporal, pipeline.S3, pipeline.Redis} {
		add(name+" is killed", func() { c.pipeline.Signal(name, syscall.SIGKILL) })
		add(name+" is frozen", func() { c.pipeline.Signal(name, syscall.SIGSTOP) })
	}
	for _, x := range []struct {
		name  string
		proxy *tcpProxy
	}{{pipeline.Temporal, c.temporal}, {pipeline.S3, c.s3tcp}, {pipeline.Redis, c.redis}} {
		add(x.name+": connections are cut", x.proxy.cut)
		add(x.name+": refuses for 3 s", func() { x.proxy.refuseFor(refused) })
		add(x.name+": silent for 4 s", func() { x.proxy.holdFor(onHold) })
	}
	for i, fault := range s3Faults {
		add("S3: "+string(fault), func() { c.s3.strike(fault, 1+2*(i%3)) })
	}
	out = append(out, &event{kind: "Temporal's data are lost", strike: c.forget})

	return out
}
