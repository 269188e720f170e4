package workflows

import (
	"cmp"
	"fmt"
	"slices"

	"go.temporal.io/sdk/workflow"

	"github.com/collabui/collabui/activities"
	epochs "github.com/collabui/collabui/activities/epoch"
	"github.com/collabui/collabui/activities/lifecycle"
	"github.com/collabui/collabui/internal/method/rules"
)

// RolloutsInput are the rollouts of an epoch.
type RolloutsInput struct {
	Run   string
	Epoch int
	Plan  lifecycle.Plan

	Early     bool `json:",omitempty"` // epochs before this one are not committed
	AllPlayed bool `json:",omitempty"` // all episodes before this epoch are played, for good
}

// RolledOut is what became of the rollouts of an epoch.
type RolledOut struct {
	Slots int // 0: the rollouts began too early, and played nothing
	Tally Tally
}

// Window is the number of episodes of a shard that are open concurrently, unless the specification has another. Real
// concurrency is bounded by the workers.
const Window = 32

// OpenShards is the number of shards of an epoch that are open concurrently, unless the specification wants more
// episodes open than they have. What is open is in the memory of the workers and of Temporal.
const OpenShards = 4

// sizeOf returns how many episodes of a shard are open concurrently, by the window of a specification.
func sizeOf(window int) int { return min(cmp.Or(window, Window), rules.ShardSize) }

// openShards returns how many shards of an epoch are open concurrently, by the window of a specification: OpenShards
// windows of episodes fit into them.
func openShards(window int) int {
	return (OpenShards*cmp.Or(window, Window) + sizeOf(window) - 1) / sizeOf(window)
}

// Rollouts plays the episodes of an epoch in shards.
func Rollouts(ctx workflow.Context, in RolloutsInput) (RolledOut, error) {
	x := &shards{
		in: in, window: window{size: openShards(in.Plan.Window)},
		counted: Progress{Phase: PhaseRollouts, Slots: in.Plan.Slots, Since: workflow.Now(ctx)},
	}
	if err := workflow.SetQueryHandler(ctx, QueryProgress, x.progress); err != nil {
		return RolledOut{}, err
	}
	x.window.progress = &x.counted
	x.window.pass = x.signal
	x.window.follow(ctx, x.resize)

	plan, err := x.begin(ctx)
	if err != nil || plan.Slots == 0 {
		return RolledOut{}, err
	}
	x.counted.Slots = plan.Slots
	x.counted.Since = workflow.Now(ctx)
	whole, err := x.play(ctx)
	if err != nil {
		return RolledOut{}, err
	}
	rate := float64(whole.Successes) / float64(max(whole.Done, 1))
	workflow.SetCurrentDetails(ctx, fmt.Sprintf("topology %s; rollouts %.1f %%, %d pairs",
		plan.Topology, 100*rate, whole.Pairs))

	err = workflow.UpsertTypedSearchAttributes(ctx, setRate(rate, whole.Done > 0))

	return RolledOut{Slots: plan.Slots, Tally: whole}, err
}

// shards are the shards of an epoch's rollouts.
type shards struct {
	in      RolloutsInput
	window  window       // of shards
	open    []*openShard // in the order in which they began
	counted Progress     // without the episodes of open shards
}

// openShard is a shard whose workflow is open.
type openShard struct {
	id       string
	workflow workflow.ChildWorkflowFuture
}

// progress answers the query "progress".
func (x *shards) progress() (Progress, error) {
	p := x.counted
	for _, shard := range x.open {
		p.Shards = append(p.Shards, shard.id)
	}

	return p, nil
}

// begin plans the epoch, and prepares what its labels need. The plan has no slots if it is too early for that.
func (x *shards) begin(ctx workflow.Context) (plan epochs.Plan, err error) {
	in := x.in
	if err := workflow.UpsertTypedSearchAttributes(ctx,
		attrRun.ValueSet(in.Run), attrStage.ValueSet(StageEpoch),
		attrEpoch.ValueSet(int64(in.Epoch)), attrEnvironment.ValueSet(in.Plan.Environment)); err != nil {
		return plan, err
	}

	id := activities.EpochID{Run: in.Run, Epoch: in.Epoch, Changes: in.Plan.Changes}
	if in.Early {
		plan, err = planEpoch(ctx, id, control.PlanAhead)
	} else {
		plan, err = planEpoch(ctx, id, control.PlanEpoch)
	}
	if err != nil || plan.Slots == 0 || in.Early && plan.Learns && !in.AllPlayed {
		return epochs.Plan{}, err
	}
	workflow.SetCurrentDetails(ctx, fmt.Sprintf("topology %s, %d slots", plan.Topology, plan.Slots))
	if !plan.Learns {
		return plan, nil
	}
	fit := on(ctx, QueueModel, "learn how likely episodes are to succeed")
	id.Changes = 0

	return plan, workflow.ExecuteActivity(fit, models.FitValue, id).Get(ctx, nil)
}

// planEpoch plans an epoch by one of two activities.
func planEpoch(ctx workflow.Context, id activities.EpochID, by any) (plan epochs.Plan, err error) {
	draw := long(on(ctx, QueueControl, "draw topology and slots"))
	err = workflow.ExecuteActivity(draw, by, id).Get(ctx, &plan)

	return plan, err
}

// play plays all shards and returns what became of their episodes. Once one has failed, no episode of the others
// begins.
func (x *shards) play(ctx workflow.Context) (whole Tally, err error) {
	tallies := make([]Tally, (x.counted.Slots+rules.ShardSize-1)/rules.ShardSize)
	err = x.window.each(ctx, len(tallies), func(ctx workflow.Context, i int) error {
		tally, err := x.shard(ctx, 1+i*rules.ShardSize)
		if err != nil {
			x.window.drained = true
			x.signal(ctx, signalDrain, true)

			return err
		}
		tallies[i] = tally
		x.counted.add(tally)

		return nil
	})
	for _, tally := range tallies { // by slot, whichever ended first
		whole.add(tally)
	}

	return whole, err
}

// shard plays the shard that begins with a slot.
func (x *shards) shard(ctx workflow.Context, from int) (tally Tally, err error) {
	in := ShardInput{
		Run: x.in.Run, Epoch: x.in.Epoch, From: from, To: min(from+rules.ShardSize-1, x.counted.Slots),
		Window: x.in.Plan.Window, View: x.in.Plan.View,
	}
	own := &openShard{id: fmt.Sprintf("%s/shard/%04d", epochID(in.Run, in.Epoch), from)}
	cctx := child(ctx, own.id, fmt.Sprintf("slots %d to %d", in.From, in.To))
	own.workflow = workflow.ExecuteChildWorkflow(cctx, Shard, in)
	x.open = append(x.open, own)
	err = childError(ctx, own.workflow.Get(ctx, &tally))
	x.open = slices.DeleteFunc(x.open, func(s *openShard) bool { return s == own })

	return tally, err
}

// resize remembers another window for the shards that begin later, and returns how many shards it opens.
func (x *shards) resize(window int) int {
	x.in.Plan.Window = window

	return openShards(window)
}

// signal sends a signal to the open shards. One that has just ended needs none.
func (x *shards) signal(ctx workflow.Context, name string, value any) {
	for _, shard := range slices.Clone(x.open) {
		_ = shard.workflow.SignalChildWorkflow(ctx, name, value).Get(ctx, nil)
	}
}
