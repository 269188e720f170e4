package house

// reads lists the reads of the store that may find nothing, by FOLDER.FUNCTION KIND, or by FOLDER KIND for all
// functions of a folder. The reason for a May explains why the outcome is the same if the store is late. The reason for
// a Sure states what absence decides.
var reads = map[string]string{
	// Reads for people, who look again.
	"cmd/collabui Exists":     "a person sees the answer and asks again; training goes on from what is recorded",
	"cmd/collabui May":        "a person sees the answer and asks again",
	"cmd/collabui MayBlob":    "a person named the policy, and sees the answer",
	"internal/view Exists":    "a page, which is loaded again",
	"internal/view May":       "a page, which is loaded again",
	"internal/interop May":    "a document, which is exported again",
	"internal/interop Exists": "a document, which is exported again",

	"cmd/collabui.session.admit Sure":  "whether the name is free for a new run",
	"cmd/collabui.app.decide Sure":     "which epoch a person lets go on",
	"cmd/collabui.demonstrations Sure": "how many demonstrations are exported",

	"cmd/collabui.app.listRuns ErrNotFound":                "a run that was deleted meanwhile is not listed",
	"cmd/collabui.exitCode ErrNotFound":                    "what a person named does not exist: exit code 4",
	"internal/observe/telemetry.Metrics.Store ErrNotFound": "an answer of the store, not a failure",
	"activities.patient ErrNotFound":                       "a fault, tried again, that asks a person in the end",
	"internal/policy/gateway.Gateway.artifact MayBlob":     "answered with 404, upon which clients ask again",
	"internal/policy/tinyserver.Server.read MayBlob":       "answered with 404, upon which clients ask again",
	"internal/policy/infer.Find Exists":                    "a person sees the answer; a server asks again",
	"internal/policy/infer.System.choose Sure":             "the newest epoch instead of the best",
	"internal/policy/infer.System.readEpoch Sure":          "whether a person asked for an epoch that is not committed",

	// Reads at which a run continues. Work that is begun again finds the recorded results, and records them once.
	"activities.Control.PlanRun Exists":      "stage 1, or the end, is done again, and adopts what is recorded",
	"activities.Control.PlanRun Sure":        "whether a person deleted the run",
	"activities.Control.tellPast May":        "a page",
	"activities.Control.Prepare Exists":      "the run is trained again, and adopts what is recorded",
	"activities.Control.Stopped Sure":        "whether a stop ended the run",
	"activities.Control.Look May":            "the firing is done again, and adopts what is recorded",
	"activities.Control.PlanAhead Exists":    "the epoch is planned when its turn comes",
	"activities.Control.rollsOut May":        "the updates name the same system, or the epoch is planned later",
	"activities.Control.rollsOut Exists":     "the epoch is planned when its turn comes",
	"internal/records/runs.Run.Identify May": "the run counts as another one, and all that is known is read again",
	"activities.versions.look Next":          "limits that a person changed count from a later look on",
	"activities.Common.open Sure":            "whether a person evaluates a run that goes on",

	// Reads of the parts of an epoch. The first record stands.
	"activities.attempt.play May":               "the attempt is played again; the first record of each step stands",
	"activities.attempt.begin Exists":           "recorded steps are found one by one, and must show the same screens",
	"activities.GPU.dataset Exists":             "the data sets are gathered again, and the first record stands",
	"activities.GPU.gathered Exists":            "the data sets are gathered again, and the first record stands",
	"trainer/external.Trainer.Train May":        "the job is trained again, and the first record stands",
	"trainer/external.Trainer.halved May":       "the program runs out of memory again, and the same record is found",
	"trainer/tiny.Trainer.resume May":           "an earlier checkpoint leads to the same bits",
	"internal/records/runs.Run.MayEpisode May":  "for people; Episode reads what must have ended",
	"internal/records/runs.Run.PairsIfAny May":  "the episode says whether the slot failed; if not, they must exist",
	"internal/records/runs.Run.Shared Sure":     "that a name has no run, which shares nothing",
	"activities.Rollouts.Evaluate Exists":       "the episodes are played again, and the first record stands",
	"internal/records/runs.Run.Again Sure":      "that a slot has failed",
	"internal/records/runs.Run.IsAccepted Sure": "that no person let the epoch go on",
	"internal/records/runs.Run.RowsOut After":   "which rows are trained on",

	// Decisions made for good.
	"activities.Control.assemble Sure":           "who let the epoch go on",
	"activities.Control.judge Sure":              "that an epoch was not evaluated by an earlier workflow, either",
	"activities.Control.PlanFinal Sure":          "that the epoch which the workflow names is the last",
	"activities.Control.final Sure":              "that the store was set back, so the base is evaluated again",
	"activities.Control.table Sure":              "which results of the base a fork has from its original",
	"activities.Control.test Sure":               "whether a contrast was declared when results were known",
	"activities.Control.standing Sure":           "whether a run without a best epoch began as a fork",
	"activities.Control.reached Sure":            "whether a base policy was evaluated, so that drift can be seen",
	"internal/records/lines.Find Sure":           "whether a run has committed the epoch",
	"internal/records/lines.Entry.Measured Sure": "which results an entry shows",

	// Reads about runs.
	"internal/records/runs.Names Exists":        "a deleted run counts as one that is needed; people look again",
	"internal/records/runs.Names Sure":          "that a run is not finished",
	"internal/records/runs.Run.Attempts May":    "for people",
	"internal/records/runs.Run.Find Sure":       "that there is no such run",
	"internal/records/runs.Run.Alive Sure":      "that nobody deleted the run",
	"internal/records/runs.Run.Chosen Sure":     "the newest epoch instead of the best",
	"internal/records/runs.Run.at Sure":         "that the epoch has not begun",
	"internal/records/runs.Run.tooLate Sure":    "that values do not come too late",
	"internal/records/runs.Run.Retry Sure":      "that the epoch has not begun, and that no agent is trained on it",
	"internal/records/runs.Run.Skip Sure":       "that there is no such slot",
	"internal/records/runs.Run.SkipRow Sure":    "that there is no such row, and that the update has not ended",
	"internal/records/runs.Run.SkipUpdate Sure": "that there is no such update",
	"internal/records/runs.Run.Failed May":      "for people, and for Retry, which is sure that the epoch has begun",
	"internal/records/runs.Run.Levels May":      "for people",
	"internal/records/runs.Run.Total May":       "what removed calls took counts at the next reading",

	// Ends of logs.
	"internal/records/runs.Run.Changes After":                "which changes count, besides those that are known",
	"internal/records/runs.Run.Committed End":                "the newest epoch; one that is done again adopts records",
	"internal/records/lines.Line.History After":              "which system a line accepts",
	"internal/records/runs.Run.Promotions After":             "the lines that may need the run",
	"internal/records/lines.Line.Standing End":               "which system a line accepts",
	"internal/records/schedules.Schedule.newest End":         "the newest version; Append records the next number once",
	"internal/records/experiments.Experiment.Versions After": "the newest version; Declare records a number once",

	// Forks.
	"internal/care/fork.Plan Sure":             "that the run has no base policy yet",
	"internal/care/fork.inherited Sure":        "which changes a fork has, too",
	"internal/care/fork.Fork.free Sure":        "that the name is free",
	"internal/care/fork.Fork.Make Sure":        "that the fork does not exist yet",
	"internal/care/fork.Fork.atEnd Sure":       "that the original has not ended",
	"internal/care/fork.Fork.relabelCell Sure": "that a slot has no labels",
	"internal/care/fork.takeIf Sure":           "that the original has no such object",

	// Maintenance of the store.
	"internal/care/collect.collector.recollect May":      "the manifests are read",
	"internal/care/collect.collector.isStillDead Exists": "what two collections found dead is looked for once more",
	"internal/care/collect.rescue.undelete Exists":       "the run is looked for again when its mark is written",
	"internal/care/hold.writer.settle May":               "the lock is looked for again as long as it matters",
	"internal/care/transfer.transfer.alive Sure":         "that nobody deleted the run in the other store",
	"internal/care/transfer.transfer.runs Exists":        "a mark is held for a copy that needs none",
	"internal/care/collect.collector.spare Sure":         "that a run is no fork that is being made",
	"internal/care/collect.inFork Exists":                "a fork that was deleted counts as one that is needed",
	"internal/care/collect.inFork Sure":                  "that a run is no fork",
	"internal/care/collect.inBase Sure":                  "that a run is still being made",
	"internal/care/collect.policiesOf Sure":              "that a run made no policy that another needs",
	"internal/care/verify.Run Sure":                      "that stage 1 of the run has not ended",
	"internal/care/verify.validator.end Sure":            "that the run has not ended",
	"internal/care/verify.validator.level Sure":          "that no stage needed the level",
	"internal/care/verify.validator.val Sure":            "that the epoch was not evaluated",
}
