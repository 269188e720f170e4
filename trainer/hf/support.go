package hf

import (
	"cmp"
	"os/exec"
	"slices"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/trainer"
	"github.com/collabui/collabui/trainer/external"
)

// Python returns the path of an interpreter that has a library; an empty path means python3. If there is no such
// program, the error is an invalid fault.
func Python(path, library string) (string, error) {
	python, err := exec.LookPath(cmp.Or(path, "python3"))
	if err != nil {
		return "", fault.New(fault.Invalid,
			"this worker has no Python with %s: set COLLABUI_PYTHON and restart the worker: %w", library, err)
	}

	return python, nil
}

// SupportsAdapter returns an invalid fault for a job that a trainer of text and adapters cannot do: rows with pictures,
// a batch that per-device rows do not divide, policies with all parameters, or a policy of another rank.
func SupportsAdapter(name string, folder external.Folder, job trainer.Job, rank, perDevice int) error {
	switch {
	case slices.ContainsFunc(job.Pairs, func(example domain.Example) bool { return example.Image != "" }):
		return fault.New(fault.Invalid,
			"the trainer %s does not support screenshots: leave out synthesis.screenshots, or use llamafactory", name)
	case job.Params.BatchSize%perDevice != 0:
		return fault.New(fault.Invalid,
			"a batch of %d rows is not a multiple of per_device = %d", job.Params.BatchSize, perDevice)
	case folder.Start.Kind == domain.ArtifactFull || folder.Reference.Kind == domain.ArtifactFull:
		return fault.New(fault.Invalid, "the trainer %s supports only adapters and the base model", name)
	case folder.Start.Kind == domain.ArtifactLoRA && folder.Start.Rank != rank:
		return fault.New(fault.Invalid,
			"the policy to start from has rank %d, trainer.options.rank is %d", folder.Start.Rank, rank)
	}

	return nil
}
