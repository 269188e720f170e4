// Package external runs training programs as child processes. It makes a folder for each job, supervises the program,
// follows its progress, stores every complete checkpoint, and resumes on whichever host takes the next attempt. What
// differs between programs is a Tool.
package external

import (
	"context"
	"encoding/json"
	"path/filepath"
	"time"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/trainer"
)

// Tool drives one training program. Its methods are called again for every attempt at a job, by several processes.
type Tool interface {
	// Base returns the base model of the job's options and its folder. A model that is missing or incomplete is an
	// invalid fault.
	Base(options json.RawMessage) (domain.BaseModel, string, error)
	// Render writes data and configuration into the job's folder and returns what to run. The same job yields the same
	// bytes. What the program would refuse or drop is an invalid fault, and so is a reference that the program
	// cannot use. Rows that it would silently cut are left out, if they are no more than Job.Skip.
	Render(ctx context.Context, f Folder, j trainer.Job) (Command, error)
	// Points reads the curve so far, in the order of steps, each step once. An incomplete last line is not an error.
	Points(f Folder) []domain.TrainPoint
	// Checkpoints returns the complete checkpoints of the folder by step. They must be the folders checkpoint-<step> of
	// Folder.Out: they are restored under that name, and other folders of that form are removed before the program
	// starts.
	Checkpoints(f Folder) map[int]string
	// Result returns the policy's files by their names in the artifact. done is false if the program has not finished,
	// with any exit status. The metric skipped_rows counts the rows that the program itself left out.
	Result(f Folder) (files map[string]string, metrics map[string]float64, done bool)
	// Policy returns the policy's files in a complete checkpoint, and the metrics at that step.
	Policy(f Folder, checkpoint string) (files map[string]string, metrics map[string]float64, err error)
	// Alarm returns an error if a running program must be ended immediately, because it trains on something other than
	// it was given. said is the beginning of what it has written since its start.
	Alarm(f Folder, said string) error
	// Explain turns an end without a result into an error, from the last lines that the program wrote. It wraps
	// ErrMemory if the memory of a device was too small.
	Explain(tail string, exit error) error
}

// Folder is where a host works on one job.
type Folder struct {
	Path string
	// Base is the base model.
	Base Local
	// Start is the policy to start from.
	Start Local
	// Reference is the reference policy of DPO.
	Reference Local
	// Ranks is the number of processes of the program, at least 1. Each has its own random state in checkpoints.
	Ranks int
	// Halved is how often the program ran out of a device's memory: see PerDevice.
	Halved int
}

// Log returns the file that holds the program's output.
func (f Folder) Log() string { return filepath.Join(f.Path, "train.log") }

// Out returns the folder that the program writes to.
func (f Folder) Out() string { return filepath.Join(f.Path, "out") }

// Local is a policy on this host.
type Local struct {
	domain.Artifact
	// Dir is the folder of its files; for the base model, the model's folder.
	Dir string
}

// Command is what to run. Args, Total and Kind are required.
type Command struct {
	Args []string
	// Shares is set if one process does several jobs: those of this host with the same Shares. Its last argument is a
	// folder in which N.json is a copy of the file Job of a job. It works on jobs as they come, keeps N.open as long as
	// it works on one, drops one whose N.json is removed, and runs until it is ended. Tool.Alarm returns why a job
	// failed. What it computes for a job must not depend on the others.
	Shares string
	Job    string
	// Env is added to this process's environment.
	Env []string
	// Versions returns the versions of the software that runs. It is called once, while the program runs.
	Versions func() map[string]string
	// Total is the number of optimiser steps of the whole job.
	Total int
	// Kind is the kind of the artifact that the program makes.
	Kind domain.ArtifactKind
	// Rank is the rank of a LoRA adapter.
	Rank int
	// Stall is the time without a sign of life after which the program counts as hung; 0 means never.
	Stall time.Duration
	// Drop holds further alternatives of a regular expression, each preceded by |: the beginnings of environment
	// variables that the program must not see.
	Drop string
	// Devices is the number of GPUs; 0 means none.
	Devices int
	// PerDevice is the number of rows that a device processes together; 0 means that it cannot be lowered.
	PerDevice int
	// Skipped is the number of rows that were left out because they are too long.
	Skipped int
}

// Host is what a machine offers to its jobs.
type Host struct {
	Bucket store.Bucket
	// Checkpoints returns the prefix of a job's checkpoints in the store.
	Checkpoints func(job string) string
	// Work is the folder for jobs and policies. It belongs to this machine alone, and may be deleted when no job runs.
	Work string
	// Devices are the GPUs; nil means none.
	Devices *Devices
	// Look is the time between looks at a program's folder; 0 means half a second.
	Look time.Duration
	// Grace is the time between the request to stop and the kill; 0 means 10 s.
	Grace time.Duration
	// Share is the server that sleeps while a job uses its GPU; nil means none.
	Share *Share
	// Python is the interpreter for short helpers; "" means the program's own.
	Python string
}
