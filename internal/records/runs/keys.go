package runs

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/method/synth"
	"github.com/collabui/collabui/internal/store"
)

// Run is a run, identified by its name. Its methods name the objects of the run: every key under runs/ is made here and
// nowhere else. Numbers in keys have four digits, so that lexical order is numeric order.
type Run string

// Object is one write-once object: its key and the type of its value.
type Object[T any] struct{ Key string }

// Must returns the object's value, and a reference to its bytes. The object was written before: see store.Must. An
// object that a fork shares is read in the run that has it, and the reference names that place.
func (o Object[T]) Must(ctx context.Context, bucket store.Bucket) (v T, ref store.Ref, err error) {
	var read error
	exists, err := find(ctx, bucket, o.Key, func(key string) (bool, error) {
		v, ref, read = store.Must[T](ctx, bucket, key)
		if errors.Is(read, store.ErrAbsent) {
			return false, nil
		}

		return true, read
	})
	if err == nil && !exists {
		err = read
	}

	return v, ref, err
}

// May returns the object's value, and whether the store shows it. It is for callers that reach the same outcome if the
// store is late: see store.May.
func (o Object[T]) May(ctx context.Context, bucket store.Bucket) (v T, exists bool, err error) {
	exists, err = find(ctx, bucket, o.Key, func(key string) (exists bool, err error) {
		v, exists, err = store.May[T](ctx, bucket, key)

		return exists, err
	})

	return v, exists, err
}

// Sure returns the object's value, and whether it exists. It is for callers that base a decision on absence: see
// store.Sure.
func (o Object[T]) Sure(ctx context.Context, bucket store.Bucket) (v T, exists bool, err error) {
	exists, err = find(ctx, bucket, o.Key, func(key string) (exists bool, err error) {
		v, exists, err = store.Sure[T](ctx, bucket, key)

		return exists, err
	})

	return v, exists, err
}

// Record writes the result of make unless the object exists, and returns the object's value. It may run twice,
// concurrently or in part: see store.RecordOnce. It does not look for objects that a fork shares: a fork records only
// its own.
func (o Object[T]) Record(ctx context.Context, bucket store.Bucket, make func() (T, error)) (T, store.Ref, error) {
	return store.RecordOnce(ctx, bucket, o.Key, make)
}

// Write writes v unless the object exists, and returns the object's value and whether this call wrote it. It may run
// twice, concurrently or in part: see store.WriteOnce.
func (o Object[T]) Write(ctx context.Context, bucket store.Bucket, v T) (T, store.Ref, bool, error) {
	return store.WriteOnce(ctx, bucket, o.Key, v)
}

// Exists is May for callers that do not need the object's value.
func (o Object[T]) Exists(ctx context.Context, bucket store.Bucket) (bool, error) {
	_, err := Raw(ctx, bucket, o.Key)
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}

	return err == nil, err
}

// Prefix is the folder of everything that belongs to the run, except blobs.
func (r Run) Prefix() string { return AllPrefix + string(r) + "/" }

// AllPrefix is the folder of everything that belongs to runs, except blobs.
const AllPrefix = "runs/"

func object[T any](run Run, format string, args ...any) Object[T] {
	return Object[T]{run.Prefix() + fmt.Sprintf(format, args...) + ".json"}
}

// Spec is the resolved specification.
func (r Run) Spec() Object[spec.Spec] { return object[spec.Spec](r, "spec") }

// Deleted records who deleted the run. What nothing else needs of the run is removed.
func (r Run) Deleted() Object[Decision] { return object[Decision](r, "deleted") }

// Summary is the cost of all recorded calls of the run that have been removed.
func (r Run) Summary() Object[Spent] { return object[Spent](r, "spent") }

// Origin records the original of a fork. Other runs do not have it.
func (r Run) Origin() Object[Origin] { return object[Origin](r, "fork") }

// Past is a fork's record of the epochs that it shares. Other runs do not have it.
func (r Run) Past() Object[Past] { return object[Past](r, "past") }

// Mark is the nth sign, from 1, of a process that writes the run and has not written its specification yet; id
// identifies the process.
func (r Run) Mark(id string, n int) Object[Mark] { return object[Mark](r, "%s%s/%06d", marks, id, n) }

// Mark describes the process that writes a run.
type Mark struct {
	What string `json:"what"`
}

const marks = "marks/"

// IsMark reports whether a key names a Mark.
func IsMark(key string) bool {
	return strings.HasPrefix(key, Run(NameOf(key)).Prefix()+marks)
}

// EndsStage reports whether a key names the base policy, a commit or the end of a run. A run that finds the object
// treats everything before it as done.
func EndsStage(key string) bool {
	run := Run(NameOf(key))
	if key == run.Base().Key || key == run.End().Key {
		return true
	}
	var epoch int
	_, err := fmt.Sscanf(strings.TrimPrefix(key, run.Prefix()), "epochs/%d/", &epoch)

	return err == nil && key == run.Epoch(epoch).Key
}

// Change is the nth change by a person, from 1.
func (r Run) Change(n int) Object[Change] { return object[Change](r, "changes/%04d", n) }

// Call is one recorded call to a chat endpoint; id is the digest of the request.
func (r Run) Call(id string) Object[Answer] { return object[Answer](r, "calls/%s/%s", id[:2], id) }

// CallsPrefix is the folder of the recorded calls to chat endpoints.
func (r Run) CallsPrefix() string { return r.Prefix() + "calls/" }

// Demonstration is training task i as the expert played it, from 0.
func (r Run) Demonstration(i int) Object[Demonstration] {
	return object[Demonstration](r, "finetune/demonstrations/%04d", i)
}

// Trajectory is training task i as the UI agent of stage 1 played it, from 0.
func (r Run) Trajectory(i int) Object[Trajectory] {
	return object[Trajectory](r, "finetune/trajectories/%04d", i)
}

// LevelPlan lists the screens from which a level of stage 1 is made.
func (r Run) LevelPlan(level int) Object[LevelPlan] {
	return object[LevelPlan](r, "finetune/plans/%04d", level)
}

// Items are the rows of a level that were written about trajectory i.
func (r Run) Items(level, i int) Object[synth.Batch] {
	return object[synth.Batch](r, "finetune/items-%d/%04d", level, i)
}

// Level is the data set of a level of stage 1.
func (r Run) Level(level int) Object[LevelSet] {
	return object[LevelSet](r, "finetune/levels/%04d", level)
}

// Chunk is a piece of stage 1's training, from 1; 0 is an imported policy.
func (r Run) Chunk(n int) Object[Chunk] { return object[Chunk](r, "finetune/chunks/%04d", n) }

// FineTuneJob is the id of stage 1's training on demonstrations, of which the chunks are parts.
func (r Run) FineTuneJob() string { return r.Prefix() + "finetune/job" }

// StageJob is the id of the training of one stage of the levels, from 1.
func (r Run) StageJob(stage int) string { return r.Prefix() + fmt.Sprintf("finetune/stage-%d", stage) }

// Base is the result of stage 1: the base policy.
func (r Run) Base() Object[Base] { return object[Base](r, "base") }

// Topology is the graph of an epoch, E_k.
func (r Run) Topology(epoch int) Object[domain.Topology] {
	return object[domain.Topology](r, "epochs/%04d/topology", epoch)
}

// Slots is the plan of an epoch.
func (r Run) Slots(epoch int) Object[Slots] { return object[Slots](r, "epochs/%04d/slots", epoch) }

// Made records the conditions with which the workers of an epoch began; 0 stands for everything before the first epoch.
// It is recorded before anything else of the epoch.
func (r Run) Made(epoch int) Object[Made] { return object[Made](r, "epochs/%04d/made", epoch) }

// Value is the epoch's model of how likely episodes are to succeed, if labels need one.
func (r Run) Value(epoch int) Object[Value] { return object[Value](r, "epochs/%04d/value", epoch) }

// Accepted is a person's decision to continue without the failed parts of an epoch; 0 is the time before the first.
func (r Run) Accepted(epoch int) Object[Decision] {
	return object[Decision](r, "epochs/%04d/accepted", epoch)
}

// EpisodePrefix is the folder of a slot's objects.
func (r Run) EpisodePrefix(epoch, slot int) string {
	return r.Prefix() + fmt.Sprintf("epochs/%04d/episodes/%04d/", epoch, slot)
}

// Start claims an attempt at a slot, from 1.
func (r Run) Start(epoch, slot, attempt int) Object[Start] {
	return object[Start](r, "epochs/%04d/episodes/%04d/a%d/start", epoch, slot, attempt)
}

// Step is one recorded decision, from 1.
func (r Run) Step(epoch, slot, attempt, step int) Object[Step] {
	return object[Step](r, "epochs/%04d/episodes/%04d/a%d/steps/%04d", epoch, slot, attempt, step)
}

// Attempt is the end of an attempt at a slot: an episode, or why it is void.
func (r Run) Attempt(epoch, slot, attempt int) Object[Episode] {
	return object[Episode](r, "epochs/%04d/episodes/%04d/a%d/episode", epoch, slot, attempt)
}

// Credits are the reward matrices of a slot's episode.
func (r Run) Credits(epoch, slot int) Object[Credits] {
	return object[Credits](r, "epochs/%04d/episodes/%04d/credit", epoch, slot)
}

// Pairs are the preference pairs of a slot's episode.
func (r Run) Pairs(epoch, slot int) Object[Pairs] {
	return object[Pairs](r, "epochs/%04d/episodes/%04d/pairs", epoch, slot)
}

// Dataset is the training data of an agent in an epoch.
func (r Run) Dataset(epoch, agent int) Object[Dataset] {
	return object[Dataset](r, "epochs/%04d/agents/%d/dataset", epoch, agent)
}

// RowOut is the nth decision by a person to leave a row of a data set out of an update, from 1.
func (r Run) RowOut(epoch, agent, n int) Object[RowOut] {
	return object[RowOut](r, "epochs/%04d/agents/%d/without/%06d", epoch, agent, n)
}

// Update is the end of an agent's update.
func (r Run) Update(epoch, agent int) Object[Update] {
	return object[Update](r, "epochs/%04d/agents/%d/update", epoch, agent)
}

// Job is the id of an agent's update without some rows: checkpoints of other rows are another job's.
func (r Run) Job(epoch, agent int, without []int) string {
	id := ""
	if len(without) > 0 {
		id = "-without-" + Digest(without)[:12]
	}

	return object[Update](r, "epochs/%04d/agents/%d/job%s", epoch, agent, id).Key
}

// Imitation is the policy of the control that is trained by SFT on the chosen answers of an agent's pairs.
func (r Run) Imitation(epoch, agent int) Object[Policy] {
	return object[Policy](r, "epochs/%04d/agents/%d/imitation", epoch, agent)
}

// ImitationJob is the id of that control's training.
func (r Run) ImitationJob(epoch, agent int) string {
	return object[Policy](r, "epochs/%04d/agents/%d/imitation-job", epoch, agent).Key
}

// Epoch is the commit of an epoch: the epoch exists when it does.
func (r Run) Epoch(epoch int) Object[Epoch] { return object[Epoch](r, "epochs/%04d/epoch", epoch) }

// EvalPrefix is the folder of all evaluated items.
func (r Run) EvalPrefix() string { return r.Prefix() + "evals/" }

// EvalEpisode is episode n of an evaluated item, from 1; id is a path such as epoch-0003/trained-4/val.
func (r Run) EvalEpisode(id string, n int) Object[EvalEpisode] {
	return object[EvalEpisode](r, "evals/%s/%04d", id, n)
}

// Result is the result of an evaluated item.
func (r Run) Result(id string) Object[Result] { return object[Result](r, "evals/%s/result", id) }

// Final records the conditions with which the workers began the evaluations at the end of the run.
func (r Run) Final() Object[Made] { return object[Made](r, "final") }

// Tasks are the tasks from one group that a gate or a check for drift plays.
func (r Run) Tasks(group string) Object[Tasks] { return object[Tasks](r, "tasks/%s", group) }

// Gate is the finding of a schedule's gate about a run that trained a system again.
func (r Run) Gate() Object[GateRecord] { return object[GateRecord](r, "gate") }

// End is the result of the run.
func (r Run) End() Object[End] { return object[End](r, "end") }
