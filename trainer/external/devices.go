package external

import (
	"context"
	"slices"
	"sync"

	"github.com/collabui/collabui/fault"
)

// Devices are the GPUs of a host. Each is used by one job at a time.
type Devices struct {
	mu    sync.Mutex
	free  []string
	total int
	back  chan struct{} // closed when a device comes back
}

// NewDevices returns a pool of devices. They are named as in CUDA_VISIBLE_DEVICES: "0", "1", or UUIDs.
func NewDevices(ids []string) *Devices {
	return &Devices{free: slices.Clone(ids), total: len(ids), back: make(chan struct{})}
}

// Take waits until n devices are free and takes all of them together: two jobs never wait for each other with a part of
// what they need. More than the host has is an invalid fault.
func (d *Devices) Take(ctx context.Context, n int) (ids []string, release func(), err error) {
	if n == 0 {
		return nil, func() {}, nil
	}
	total := 0
	if d != nil {
		total = d.total
	}
	if n > total {
		return nil, nil, fault.New(fault.Invalid, "the job asks for %d GPUs, this worker has %d: "+
			"set `devices` in trainer.options, or start the worker with --gpus", n, total)
	}

	for {
		ids, wait := d.try(n)
		if ids != nil {
			return ids, func() { d.release(ids) }, nil
		}

		select {
		case <-wait:
		case <-ctx.Done():
			return nil, nil, context.Cause(ctx)
		}
	}
}

// try takes n devices, or returns a channel that is closed when some come back.
func (d *Devices) try(n int) (ids []string, wait <-chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()

	if len(d.free) < n {
		return nil, d.back
	}
	ids = slices.Clone(d.free[:n])
	d.free = d.free[n:]

	return ids, nil
}

func (d *Devices) release(ids []string) {
	d.mu.Lock()
	defer d.mu.Unlock()

	d.free = append(d.free, ids...)
	close(d.back)
	d.back = make(chan struct{})
}
