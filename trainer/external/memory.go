package external

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/trainer"
)

// ErrMemory means that the memory of a device is too small for the rows that it processes together.
var ErrMemory = errors.New("out of the device's memory")

// NoMemory reports whether a program wrote that the memory of a device is too small.
func NoMemory(said string) bool { return noMemory.MatchString(said) }

var noMemory = regexp.MustCompile(`(?i)CUDA out of memory|OutOfMemoryError|CUBLAS_STATUS_ALLOC_FAILED|` +
	`can't allocate memory|Cannot allocate memory`)

// BadDevice matches what a program writes if a GPU is at fault, or another process has it.
var BadDevice = regexp.MustCompile(`(?i)uncorrectable ECC|no CUDA-capable device|busy or unavailable|` +
	`GPU has fallen off the bus|CUDA driver initialization failed|CUDA unknown error|` +
	`NVML.*Driver/library version mismatch`)

// PerDevice returns the number of rows that a device processes together: as many as the options say, or fewer after the
// program ran out of memory. Each time it becomes the largest divisor of what it was, so that a step still has the same
// rows, in more passes: the gradient is the same up to the order of additions.
func (f Folder) PerDevice(n int) int {
	for range f.Halved {
		n = smaller(n)
	}

	return n
}

// smaller returns the largest proper divisor of a number from 2, and 1 of 1.
func smaller(n int) int {
	for d := 2; d <= n; d++ {
		if n%d == 0 {
			return n / d
		}
	}

	return 1
}

// outOfMemory records that the program of a job ran out of a device's memory.
type outOfMemory struct {
	PerDevice int    `json:"per_device"` // rows that were too many
	Host      string `json:"host"`
	Why       string `json:"why"`
}

// memoryKey returns the key of the nth record, from 1.
func (t *Trainer) memoryKey(job trainer.Job, n int) string {
	return fmt.Sprintf("%smemory-%02d.json", t.Checkpoints(job.ID), n)
}

// halved returns how often a job's program ran out of memory, on whichever host.
func (t *Trainer) halved(ctx context.Context, job trainer.Job) (int, error) {
	for n := 0; ; n++ {
		_, there, err := store.May[outOfMemory](ctx, t.Bucket, t.memoryKey(job, n+1))
		if err != nil || !there {
			return n, err
		}
	}
}

// retryInLessMemory turns the error of a program that ran out of memory into a transient one if fewer rows can be
// processed together, and records that for the next attempt, on whichever host.
func (t *Trainer) retryInLessMemory(ctx context.Context, folder Folder, job trainer.Job, cmd Command, why error) error {
	if !errors.Is(why, ErrMemory) || cmd.PerDevice <= 1 {
		return why
	}
	host, _ := os.Hostname() // for people only
	record := func() (outOfMemory, error) { return outOfMemory{cmd.PerDevice, host, why.Error()}, nil }
	if _, _, err := store.RecordOnce(ctx, t.Bucket, t.memoryKey(job, folder.Halved+1), record); err != nil {
		return err
	}

	return fault.New(fault.Transient, "%d rows do not fit into a device's memory together: "+
		"the job goes on from its newest checkpoint with %d, in more passes: %w",
		cmd.PerDevice, smaller(cmd.PerDevice), why)
}
