package simulation

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// FaultKind is a kind of fault. A fault of a request strikes at a point: a request, a step of a trainer or an
// environment, or the beginning or end of an activity. An event takes place between two points.
type FaultKind string

// The kinds of faults.
const (
	none FaultKind = ""

	// Faults that can strike every point of an activity.
	Kill      FaultKind = "kill"       // the worker dies before the request
	KillAfter FaultKind = "kill after" // the worker dies after the request has taken effect
	Late      FaultKind = "late"       // Temporal gives up the activity, which another worker repeats meanwhile
	Slow      FaultKind = "slow"       // the request takes ten seconds
	Jump      FaultKind = "jump"       // the clock jumps 20 minutes ahead, as on a machine that slept
	Restart   FaultKind = "restart"    // Temporal's data are lost; the run is started again beside the old activities
	Silent    FaultKind = "silent"     // its heartbeats are lost: it times out, runs for a while, and is then cancelled

	// Faults that can strike the beginning of an activity.
	NoWorker FaultKind = "no worker" // no worker takes it for one to sixty days

	// Faults that can strike the beginning of an activity that is not the control worker's.
	OtherVersion FaultKind = "other version" // a worker of another version takes it, which would do it differently
	TwoResults   FaultKind = "two results"   // two workers do it concurrently, with different answers and policies

	// Faults that can strike the end of an activity.
	Unacknowledged FaultKind = "unacknowledged" // it ends, and Temporal does not learn of it

	// Faults that can strike a request to S3.
	S3Down      FaultKind = "s3 down"      // no connection
	S3Error     FaultKind = "s3 500"       // internal error, without effect
	S3Busy      FaultKind = "s3 503"       // slow down
	S3Conflict  FaultKind = "s3 409"       // another write of the key is under way
	S3Proxy     FaultKind = "s3 404"       // a proxy responds instead of the server
	S3Lost      FaultKind = "s3 lost"      // the request takes effect, and the response is lost
	S3Truncated FaultKind = "s3 truncated" // the body ends in the middle
	S3Stalled   FaultKind = "s3 stalled"   // the body stops in the middle, and the connection stays
	S3Away      FaultKind = "s3 away"      // no connection for the next requests: more than an activity tries
	S3Full      FaultKind = "s3 full"      // no space for the data of the next requests
	S3Lies      FaultKind = "s3 lies"      // the server confirms a blob that it did not write
	S3Torn      FaultKind = "s3 torn"      // the server writes half of a blob, and fails
	S3Stale     FaultKind = "s3 stale"     // an existing object is reported missing, by an error document of S3
	S3Omits     FaultKind = "s3 omits"     // a list leaves one key out
	S3Cut       FaultKind = "s3 cut"       // a list ends in the middle, and claims to be whole

	// Faults that can strike a request to Redis.
	RedisDown  FaultKind = "redis down"  // no connection
	RedisFlush FaultKind = "redis flush" // all its keys are lost

	// Faults that can strike a call to a policy server.
	PolicyDown FaultKind = "policy down"
	PolicyBusy FaultKind = "policy 429"

	// Faults that can strike a call to a chat endpoint.
	ModelDown  FaultKind = "model down"
	ModelBusy  FaultKind = "model 429"
	ModelHangs FaultKind = "model hangs" // for two minutes

	// Faults that can strike a step of an environment.
	EnvironmentDies FaultKind = "environment dies"
	EnvironmentOdd  FaultKind = "environment odd" // its screens differ after a replay

	// Faults that can strike a request of an actor.
	Freeze FaultKind = "freeze" // its process is stopped for longer than the grace period

	// Events of S3.
	S3Behind      FaultKind = "s3 behind"       // for a minute, a replica responds that is seconds behind
	S3HoursBehind FaultKind = "s3 hours behind" // for an hour, a replica responds that is hours behind
	S3Older       FaultKind = "s3 older"        // it is reset to an earlier state, for which the workers are stopped
	ClockOff      FaultKind = "clock off"       // the workers' clock jumps by up to 30 hours, but not the server's

	// Events of Temporal.
	TemporalOlder  FaultKind = "temporal older"   // it is reset to an earlier state, while the old activities continue
	ChildCancelled FaultKind = "child cancelled"  // someone cancels an open child workflow
	ChildEnds      FaultKind = "child terminated" // someone terminates an open child workflow
)

// Kinds of events in which others act beside the run: see actors.
const (
	GC          FaultKind = "gc"           // three nightly collections
	Copy        FaultKind = "copy"         // to a second store whose garbage is collected meanwhile, and back
	Fork        FaultKind = "fork"         // an unchanged fork, which is run when everything else has ended
	DeleteOther FaultKind = "delete other" // another run with the same policies is deleted, and collected
	Undelete    FaultKind = "undelete"     // another run is deleted, and taken back while garbage is collected
	DeleteAgain FaultKind = "delete again" // the run is stopped, deleted, collected, and begun again under its name
	Pause       FaultKind = "pause"        // a person pauses the run for one to sixty days
	Stop        FaultKind = "stop"         // a person stops the run, and continues it later
	Set         FaultKind = "set"          // a person changes a value
)

var (
	everywhere        = []FaultKind{Kill, KillAfter, Late, Slow, Jump, Restart, Silent} // every point of an activity
	everyActor        = []FaultKind{Kill, KillAfter, Slow, Jump, Freeze}                // every point of an actor
	beginFaults       = []FaultKind{NoWorker}
	workerFaults      = []FaultKind{NoWorker, OtherVersion, TwoResults}
	endFaults         = []FaultKind{Unacknowledged}
	s3BlobFaults      = []FaultKind{S3Lies, S3Torn}
	s3ReadFaults      = []FaultKind{S3Stale}
	s3ListFaults      = []FaultKind{S3Omits, S3Cut}
	redisFaults       = []FaultKind{RedisDown, RedisFlush}
	policyFaults      = []FaultKind{PolicyDown, PolicyBusy}
	modelFaults       = []FaultKind{ModelDown, ModelBusy, ModelHangs}
	environmentFaults = []FaultKind{EnvironmentDies, EnvironmentOdd}
	s3Faults          = []FaultKind{
		S3Down, S3Error, S3Busy, S3Conflict, S3Proxy, S3Lost, S3Truncated, S3Stalled, S3Away, S3Full,
	}

	// events take place between two points.
	events = []FaultKind{S3Behind, S3HoursBehind, S3Older, ClockOff, TemporalOlder, ChildCancelled, ChildEnds}
	actors = []FaultKind{GC, Copy, Fork, DeleteOther, Undelete, DeleteAgain, Pause, Stop, Set}
)

// Kinds are all kinds of faults.
var Kinds = slices.Concat(everywhere, []FaultKind{Freeze}, workerFaults, endFaults, s3Faults, s3BlobFaults,
	s3ReadFaults,
	s3ListFaults, redisFaults, policyFaults, modelFaults, environmentFaults, events, actors)

var only = flag.String("only", "", "the only kinds that are drawn, with commas")

// drawn reports whether schedules may have a kind.
func drawn(kind FaultKind) bool {
	return *only == "" || slices.Contains(strings.Split(*only, ","), string(kind))
}

// kindsWithoutActor returns the kinds that are drawn and need no actor.
func kindsWithoutActor() []FaultKind {
	return slices.DeleteFunc(slices.Clone(Kinds), func(kind FaultKind) bool {
		return !drawn(kind) || kind == Freeze || slices.Contains(actors, kind)
	})
}

// brings lists the effects that each kind has, at least sometimes.
var brings = map[FaultKind][]string{
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
	Kind FaultKind
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
		faults = slices.DeleteFunc(faults, func(kind FaultKind) bool { return kind == TwoResults && *only == "" })
	}
	with := slices.DeleteFunc(slices.Clone(actors), func(k FaultKind) bool { return !drawn(k) })
	var out []Fault
	add := func(k FaultKind) { out = append(out, Fault{At: 1 + r.IntN(points), Kind: k}) }
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
	slices.SortStableFunc(out, func(a, b Fault) int { return a.At - b.At })

	return out
}

func isEvent(kind FaultKind) bool {
	return slices.Contains(events, kind) || slices.Contains(actors, kind)
}
