package simulation

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// Kind is a kind of fault. A fault of a request strikes at a point: a request, a step of a trainer or an environment,
// or the beginning or end of an activity. An event takes place between two points.
type Kind string

// The kinds of faults.
const (
	none Kind = ""

	// Faults that can strike every point of an activity.
	Kill      Kind = "kill"       // the worker dies before the request
	KillAfter Kind = "kill after" // the worker dies after the request has taken effect
	Late      Kind = "late"       // Temporal gives up the activity, which continues while another worker repeats it
	Slow      Kind = "slow"       // the request takes ten seconds
	Jump      Kind = "jump"       // the clock jumps 20 minutes ahead, as on a machine that slept
	Restart   Kind = "restart"    // Temporal's data are lost; the run is started again beside the old activities
	Silent    Kind = "silent"     // its heartbeats are lost: it times out, runs for a while, and is then cancelled

	// Faults that can strike the beginning of an activity.
	NoWorker Kind = "no worker" // no worker takes it for one to sixty days

	// Faults that can strike the beginning of an activity that is not the control worker's.
	OtherVersion Kind = "other version" // a worker of another version takes it, which would do it differently
	TwoResults   Kind = "two results"   // two workers do it concurrently, with different answers and policies

	// Faults that can strike the end of an activity.
	Unacknowledged Kind = "unacknowledged" // it ends, and Temporal does not learn of it

	// Faults that can strike a request to S3.
	S3Down      Kind = "s3 down"      // no connection
	S3Error     Kind = "s3 500"       // internal error, without effect
	S3Busy      Kind = "s3 503"       // slow down
	S3Conflict  Kind = "s3 409"       // another write of the key is under way
	S3Proxy     Kind = "s3 404"       // a proxy responds instead of the server
	S3Lost      Kind = "s3 lost"      // the request takes effect, and the response is lost
	S3Truncated Kind = "s3 truncated" // the body ends in the middle
	S3Stalled   Kind = "s3 stalled"   // the body stops in the middle, and the connection stays
	S3Away      Kind = "s3 away"      // no connection for the next requests: more than an activity tries
	S3Full      Kind = "s3 full"      // no space for the data of the next requests
	S3Lies      Kind = "s3 lies"      // the server confirms a blob that it did not write
	S3Torn      Kind = "s3 torn"      // the server writes half of a blob, and fails
	S3Stale     Kind = "s3 stale"     // an existing object is reported missing, by an error document of S3
	S3Omits     Kind = "s3 omits"     // a list leaves one key out
	S3Cut       Kind = "s3 cut"       // a list ends in the middle, and claims to be whole

	// Faults that can strike a request to Redis.
	RedisDown  Kind = "redis down"  // no connection
	RedisFlush Kind = "redis flush" // all its keys are lost

	// Faults that can strike a call to a policy server.
	PolicyDown Kind = "policy down"
	PolicyBusy Kind = "policy 429"

	// Faults that can strike a call to a chat endpoint.
	ModelDown  Kind = "model down"
	ModelBusy  Kind = "model 429"
	ModelHangs Kind = "model hangs" // for two minutes

	// Faults that can strike a step of an environment.
	EnvironmentDies Kind = "environment dies"
	EnvironmentOdd  Kind = "environment odd" // its screens differ after a replay

	// Faults that can strike a request of an actor.
	Freeze Kind = "freeze" // its process is stopped for longer than the grace period

	// Events of S3.
	S3Behind      Kind = "s3 behind"       // for a minute, a replica responds that is seconds behind
	S3HoursBehind Kind = "s3 hours behind" // for an hour, a replica responds that is hours behind
	S3Older       Kind = "s3 older"        // it is reset to an earlier state, for which the workers are stopped
	ClockOff      Kind = "clock off"       // the workers' clock jumps by up to 30 hours, but not the server's

	// Events of Temporal.
	TemporalOlder  Kind = "temporal older"   // it is reset to an earlier state, while the old activities continue
	ChildCancelled Kind = "child cancelled"  // someone cancels an open child workflow
	ChildEnds      Kind = "child terminated" // someone terminates an open child workflow
)

// Kinds of events in which others act beside the run: see actors.
const (
	GC          Kind = "gc"           // three nightly collections
	Copy        Kind = "copy"         // to a second store whose garbage is collected meanwhile, and back
	Fork        Kind = "fork"         // an unchanged fork, which is run when everything else has ended
	DeleteOther Kind = "delete other" // another run with the same policies is deleted, and collected
	Undelete    Kind = "undelete"     // another run is deleted, and taken back while garbage is collected
	DeleteAgain Kind = "delete again" // the run is stopped, deleted, collected, and begun again under its name
	Pause       Kind = "pause"        // a person pauses the run for one to sixty days
	Stop        Kind = "stop"         // a person stops the run, and continues it later
	Set         Kind = "set"          // a person changes a value
)

var (
	everywhere        = []Kind{Kill, KillAfter, Late, Slow, Jump, Restart, Silent} // every point of an activity
	everyActor        = []Kind{Kill, KillAfter, Slow, Jump, Freeze}                // every point of an actor
	beginFaults       = []Kind{NoWorker}
	workerFaults      = []Kind{NoWorker, OtherVersion, TwoResults}
	endFaults         = []Kind{Unacknowledged}
	s3BlobFaults      = []Kind{S3Lies, S3Torn}
	s3ReadFaults      = []Kind{S3Stale}
	s3ListFaults      = []Kind{S3Omits, S3Cut}
	redisFaults       = []Kind{RedisDown, RedisFlush}
	policyFaults      = []Kind{PolicyDown, PolicyBusy}
	modelFaults       = []Kind{ModelDown, ModelBusy, ModelHangs}
	environmentFaults = []Kind{EnvironmentDies, EnvironmentOdd}
	s3Faults          = []Kind{
		S3Down, S3Error, S3Busy, S3Conflict, S3Proxy, S3Lost, S3Truncated, S3Stalled, S3Away, S3Full,
	}

	// events take place between two points.
	events = []Kind{S3Behind, S3HoursBehind, S3Older, ClockOff, TemporalOlder, ChildCancelled, ChildEnds}
	actors = []Kind{GC, Copy, Fork, DeleteOther, Undelete, DeleteAgain, Pause, Stop, Set}
)

// Kinds are all kinds of faults.
var Kinds = slices.Concat(everywhere, []Kind{Freeze}, workerFaults, endFaults, s3Faults, s3BlobFaults, s3ReadFaults,
	s3ListFaults, redisFaults, policyFaults, modelFaults, environmentFaults, events, actors)

var only = flag.String("only", "", "the only kinds that are drawn, with commas")

// drawn reports whether schedules may have a kind.
func drawn(kind Kind) bool {
	return *only == "" || slices.Contains(strings.Split(*only, ","), string(kind))
}

// kindsWithoutActor returns the kinds that are drawn and need no actor.
func kindsWithoutActor() []Kind {
	return slices.DeleteFunc(slices.Clone(Kinds), func(kind Kind) bool {
		return !drawn(kind) || kind == Freeze || slices.Contains(actors, kind)
	})
}

// brings lists the effects that each kind has, at least sometimes.
var brings = map[Kind][]string{
	TwoResults: {varied},
	GC: {
		"gc removed manifests", "gc put blobs into the trash", "gc freed objects", "gc restored objects",
	},
	Copy:        {"a run was copied", "objects were copied back"},
	Fork:        {"an unchanged fork ended with the digest of its original"},
	DeleteOther: {"a run was deleted", "a deleted run was removed"},
	Undelete: {
		"a deleted run was taken back", "objects came back from the trash", "objects came back from versions",
	},
	DeleteAgain: {"a run of the name of a deleted one was begun"},
	Pause:       {"a person paused the run"},
	Stop:        {"a person stopped the run"},
	Set:         {"a person changed a value"},
}

// Fault strikes at the first point from At on that its kind can strike; an event takes place before that point. Points
// are counted from 1.
type Fault struct {
	At   int
	Kind Kind
}

func (f Fault) String() string { return fmt.Sprintf("%d:%s", f.At, f.Kind) }

// awayFor is the number of requests to S3 that one fault of the kind S3Away strikes, and fullFor the number of writes
// that one of the kind S3Full strikes.
const (
	awayFor = 400
	fullFor = 40
)

// One schedule in actorEvery has actors. One in variedEvery may have two results, because its digest is then not
// compared.
const (
	actorEvery  = 3
	variedEvery = 5
)

// Draw returns the faults of a seed: up to twenty among the first points. Every third schedule also has an actor, and
// all kinds of actors take turns.
func Draw(seed uint64, points int) []Fault {
	r := rand.New(rand.NewPCG(seed, 1))
	faults := kindsWithoutActor()
	if seed%variedEvery != 0 {
		faults = slices.DeleteFunc(faults, func(kind Kind) bool { return kind == TwoResults && *only == "" })
	}
	with := slices.DeleteFunc(slices.Clone(actors), func(k Kind) bool { return !drawn(k) })
	var out []Fault
	add := func(k Kind) { out = append(out, Fault{At: 1 + r.IntN(points), Kind: k}) }
	for range 1 + r.IntN(20) {
		if len(faults) > 0 {
			add(faults[r.IntN(len(faults))])
		}
	}
	if (seed%actorEvery == 0 || *only != "") && len(with) > 0 {
		n := uint64(len(with))
		turn := seed/actorEvery + seed/(actorEvery*n) // shifted, so that all meet both parities of seeds
		add(with[turn%n])
		if r.IntN(2) == 0 {
			add(with[r.IntN(len(with))])
		}
		if drawn(Freeze) {
			add(Freeze)
		}
	}
	slices.SortStableFunc(out, func(fault, b Fault) int { return fault.At - b.At })

	return out
}

func isEvent(kind Kind) bool { return slices.Contains(events, kind) || slices.Contains(actors, kind) }
