package layout

import (
	"slices"
	"strings"
	"time"

	"github.com/collabui/collabui/internal/records/experiments"
	"github.com/collabui/collabui/internal/records/lines"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/records/schedules"
	"github.com/collabui/collabui/internal/store"
)

// Readers of the kinds.
var (
	workers = []string{Control, Rollout, Model, GPU}
	all     = append(slices.Clone(workers), View)
	pages   = []string{Control, View}
)

// by returns the roles that write a kind.
func by(roles ...string) []string { return roles }

// nobody is the list of roles for kinds that only people write.
var nobody []string

const run = runs.Run("a-run")

// one returns a key as examples.
func one[T any](o runs.Object[T]) []string { return []string{o.Key} }

// Kinds are the kinds of objects of a store. Control also writes the objects that a fork copies, because experiments
// and schedules make forks.
var Kinds = slices.Concat(ofStore, ofRuns, ofStage1, ofEpochs, ofEvaluations)

var ofStore = []Kind{
	{"store.json", []string{"store.json"}, by(Control), all, "internal/store.Identify"},
	// Blobs are named by their content, so a reader detects bytes that do not match the name.
	{store.BlobPrefix + "*", []string{store.BlobPrefix + store.Sum(nil)},
		by(Control, Rollout, Model, GPU), append(slices.Clone(all), Serve), "internal/store.PutBlob"},
	{"trash/blobs/*", []string{store.TrashKey(store.BlobPrefix+store.Sum(nil), 1)}, nobody, workers, ""},
	{"trash/runs/*", []string{store.TrashKey(run.Spec().Key, 1)}, nobody, nobody, ""},
	{"imports/*.json", []string{runs.ImportsPrefix + store.Sum(nil) + ".json"}, nobody, nobody,
		"internal/records/runs.Import"},
	{"lines/*/*.json", one(lines.Line("a-line").Entry(1)), by(Control), by(Control, View, Serve),
		"internal/records/lines.Line.Entry"},
	{"schedules/*/versions/*.json", one(schedules.Schedule("a").Version(1)), nobody, pages,
		"internal/records/schedules.Schedule.Version"},
	{"schedules/*/firings/*/found.json", one(schedules.Schedule("a").Firing("2026")), by(Control), pages,
		"internal/records/schedules.Schedule.Firing"},
	{"schedules/*/firings/*/outcome.json", one(schedules.Schedule("a").Outcome("2026")), by(Control), pages,
		"internal/records/schedules.Schedule.Outcome"},
	{"experiments/*/declared/*.json", one(experiments.Experiment("x").Version(1)), nobody, pages,
		"internal/records/experiments.Experiment.Version"},
	{"experiments/*/results/*.json", one(experiments.Experiment("x").Result(1)), by(Control), pages,
		"internal/records/experiments.Experiment.Result"},
	{"gc/running/*.json", []string{"gc/running/000001.json"}, nobody, by(Control),
		"internal/care/hold.Lock.put internal/care/hold.Lock.write"},
	{"gc/clock/*.json", []string{"gc/clock/ABC.json"}, nobody, nobody, "internal/care/hold.serverNow"},
	{"gc/found/*.json", []string{"gc/found/000001.json"}, nobody, nobody, "internal/care/collect.collector.record"},
	{"gc/refs/*.json", []string{"gc/refs/a-run/0123456789abcdef.json"}, nobody, nobody,
		"internal/care/collect.collector.remember"},
	{runs.RetiredPrefix + "*.json", one(runs.RetirementAt(time.Unix(0, 0))), nobody, nobody,
		"internal/records/runs.RetirementAt"},
	{"tried/*", []string{"tried/ABC/a"}, nobody, nobody, "internal/store.trial.writes"},
}

var ofRuns = []Kind{
	{"runs/*/spec.json", one(run.Spec()), by(Control), all,
		"internal/records/runs.Run.Spec internal/records/runs.Run.Forked"},
	{"runs/*/deleted.json", one(run.Deleted()), nobody, all, "internal/records/runs.Run.Deleted"},
	{"runs/*/spent.json", one(run.Summary()), nobody, all, "internal/records/runs.Run.Summary"},
	{"runs/*/fork.json", one(run.Origin()), by(Control), all, "internal/records/runs.Run.Origin"},
	{"runs/*/past.json", one(run.Past()), by(Control), all, "internal/records/runs.Run.Past"},
	{"runs/*/marks/*.json", one(run.Mark("id", 1)), by(Control), all, "internal/records/runs.Run.Mark"},
	{"runs/*/changes/*.json", one(run.Change(1)), by(Control), all, "internal/records/runs.Run.Change"},
	{"runs/*/claims/*.json", one(run.Claim(1)), by(Control), all, "internal/records/runs.Run.Claim"},
	{"runs/*/promotions/*.json", one(run.Promotion(1)), by(Control), all, "internal/records/runs.Run.Promotion"},
	{"runs/*/calls/*/*.json", one(run.Call(store.Sum(nil))), by(Rollout, Model), all, "internal/records/runs.Run.Call"},
	{"runs/*/base.json", one(run.Base()), by(Control), all, "internal/records/runs.Run.Base"},
	{"runs/*/final.json", one(run.Final()), by(Control), all, "internal/records/runs.Run.Final"},
	{"runs/*/tasks/*.json", one(run.Tasks("val")), by(Control), all, "internal/records/runs.Run.Tasks"},
	{"runs/*/gate.json", one(run.Gate()), by(Control), all, "internal/records/runs.Run.Gate"},
	{"runs/*/end.json", one(run.End()), by(Control), all, "internal/records/runs.Run.End"},
}

var ofStage1 = []Kind{
	{"runs/*/finetune/demonstrations/*.json", one(run.Demonstration(0)), by(Rollout), all,
		"internal/records/runs.Run.Demonstration"},
	{"runs/*/finetune/trajectories/*.json", one(run.Trajectory(0)), by(Rollout), all,
		"internal/records/runs.Run.Trajectory"},
	{"runs/*/finetune/plans/*.json", one(run.LevelPlan(1)), by(Control), all, "internal/records/runs.Run.LevelPlan"},
	{"runs/*/finetune/items-?/*.json", one(run.Items(1, 0)), by(Model), all, "internal/records/runs.Run.Items"},
	{"runs/*/finetune/levels/*.json", one(run.Level(1)), by(Control), all, "internal/records/runs.Run.Level"},
	{"runs/*/finetune/chunks/*.json", one(run.Chunk(1)), by(GPU), all, "internal/records/runs.Run.Chunk"},
	{"runs/*/finetune/job-checkpoint-*.json", besideJob(run.FineTuneJob()), by(GPU), all, ofJob},
	{"runs/*/finetune/stage-*-checkpoint-*.json", besideJob(run.StageJob(1)), by(GPU), all, ofJob},
}

var ofEpochs = []Kind{
	{"runs/*/epochs/*/topology.json", one(run.Topology(1)), by(Control), all, "internal/records/runs.Run.Topology"},
	{"runs/*/epochs/*/slots.json", one(run.Slots(1)), by(Control), all, "internal/records/runs.Run.Slots"},
	{"runs/*/epochs/*/made.json", one(run.Made(1)), by(Control), all,
		"internal/records/runs.Run.Made activities.BeginningOf"},
	{"runs/*/epochs/*/value.json", one(run.Value(1)), by(Model), all, "internal/records/runs.Run.Value"},
	{"runs/*/epochs/*/accepted.json", one(run.Accepted(1)), by(Control), all, "internal/records/runs.Run.Accepted"},
	{"runs/*/epochs/*/epoch.json", one(run.Epoch(1)), by(Control), all, "internal/records/runs.Run.Epoch"},
	{"runs/*/epochs/*/episodes/*/a*/start.json", one(run.Start(1, 1, 1)), by(Control, Rollout), all,
		"internal/records/runs.Run.Start"},
	{"runs/*/epochs/*/episodes/*/a*/steps/*.json", one(run.Step(1, 1, 1, 1)), by(Rollout), all,
		"internal/records/runs.Run.Step"},
	{"runs/*/epochs/*/episodes/*/a*/episode.json", one(run.Attempt(1, 1, 1)), by(Control, Rollout), all,
		"internal/records/runs.Run.Attempt"},
	{"runs/*/epochs/*/episodes/*/credit.json", one(run.Credits(1, 1)), by(Control, Model), all,
		"internal/records/runs.Run.Credits"},
	{"runs/*/epochs/*/episodes/*/pairs.json", one(run.Pairs(1, 1)), by(Control, Model), all,
		"internal/records/runs.Run.Pairs"},
	{"runs/*/epochs/*/agents/*/dataset.json", one(run.Dataset(1, 0)), by(Control, GPU), all,
		"internal/records/runs.Run.Dataset"},
	{"runs/*/epochs/*/agents/*/without/*.json", one(run.RowOut(1, 0, 1)), by(Control), all,
		"internal/records/runs.Run.RowOut"},
	{"runs/*/epochs/*/agents/*/update.json", one(run.Update(1, 0)), by(Control, GPU), all,
		"internal/records/runs.Run.Update"},
	{"runs/*/epochs/*/agents/*/imitation.json", one(run.Imitation(1, 0)), by(Control, GPU), all,
		"internal/records/runs.Run.Imitation"},
	{"runs/*/epochs/*/agents/*/job*-checkpoint-*.json",
		slices.Concat(besideJob(run.Job(1, 0, nil)), besideJob(run.Job(1, 0, []int{3}))), by(GPU), all, ofJob},
	{"runs/*/epochs/*/agents/*/imitation-job-checkpoint-*.json", besideJob(run.ImitationJob(1, 0)), by(GPU), all,
		ofJob},
}

var ofEvaluations = []Kind{
	{"runs/*/evals/*/????.json", one(run.EvalEpisode("epoch-0001/trained-4/val", 1)), by(Control, Rollout), all,
		"internal/records/runs.Run.EvalEpisode"},
	{"runs/*/evals/*/result.json", one(run.Result("epoch-0001/trained-4/val")), by(Control), all,
		"internal/records/runs.Run.Result"},
}

// ofJob are the functions that write the objects of a training job.
const ofJob = "trainer/tiny.Trainer.save trainer/external.watch.storeOne trainer/external.Trainer.Train " +
	"trainer/external.Trainer.retryInLessMemory"

// besideJob returns examples of the keys that training writes for a job.
func besideJob(id string) (keys []string) {
	for _, name := range []string{"000020", "memory-01", "result", "result-000020"} {
		keys = append(keys, strings.TrimSuffix(id, ".json")+"-checkpoint-"+name+".json")
	}

	return keys
}
