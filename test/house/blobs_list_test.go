package house

// blobs lists the functions that write blobs, by FOLDER.FUNCTION, with the manifest that names the blob before anything
// else knows about it. For putters, their callers are listed instead.
var blobs = map[string]string{
	"activities/retrain.Control.item":       "runs.Tasks, in whose Record it is written",
	"activities/grade.Models.fitValue":      "runs.Value: FitValue records what it returns",
	"activities/epoch.putInventory":         "runs.Made: begin records what it returns",
	"activities/retrain.Control.look":       "schedules.Firing: Look records what it returns",
	"activities/stage1.Control.level":       "runs.LevelSet: Assemble records what it returns",
	"activities/update.GPU.gather":          "runs.Dataset, in whose Record it is written",
	"activities/play.Camera.Screenshot":     "runs.Step, runs.Episode or runs.EvalEpisode, which is recorded next",
	"activities/play.Camera.keep":           "what an episode records next: its cells, examples and screens name it",
	"activities/stage1.Rollouts.screenshot": "runs.Trajectory: Explore records the screens that it returns",

	"cmd/collabui/results.importPath":   "runs.Imported, before a person sees the digest",
	"cmd/collabui/results.importFolder": "runs.Imported, before a person sees the digest",
	"cmd/collabui/preflight.examine": "none: a check before the start records nothing and takes minutes. The command " +
		"deletes the blob; if gc is faster, the check fails and is begun again",

	"trainer/tiny.Trainer.save":            "the checkpoint, which is recorded next",
	"trainer/tiny.Trainer.Train":           "runs.Chunk, runs.Update or runs.Policy: the job runs in its Record",
	"trainer/external.Trainer.Adopt":       "runs.Chunk, in whose Record the base policy is adopted",
	"trainer/external.watch.collect":       "the end of the job: Train records what it returns",
	"trainer/external.watch.storeOne":      "the checkpoint, which is recorded next",
	"internal/care/transfer.transfer.blob": "a manifest that was copied before, or none in the source, either",
}

// putters are the names of functions that write a blob for their callers, which are checked in their place.
var putters = []string{"PutBlob", "PutBlobFile", "PutPairs", "PutArtifact", "putFiles", "putFolder"}
