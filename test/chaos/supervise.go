package chaos

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/collabui/collabui/test/kit/pipeline"
)

// frozenFor is how long a process may be stopped before it is replaced.
const frozenFor = 3 * time.Second

// supervise starts dead processes, and replaces frozen ones.
func (c *Cell) supervise() error {
	for _, name := range []string{pipeline.Temporal, pipeline.S3, pipeline.Redis, pipeline.Worker} {
		if stopped(c.pipeline.PID(name)) {
			if c.frozen[name].IsZero() {
				c.frozen[name] = time.Now()
			}
			if time.Since(c.frozen[name]) < frozenFor {
				continue
			}
			c.pipeline.End(name)
		}
		delete(c.frozen, name)
		if c.pipeline.PID(name) != 0 {
			continue
		}
		if err := c.start(name); err != nil && name != pipeline.Worker { // a worker may die while it starts
			return err
		}
	}

	return nil
}

func (c *Cell) start(name string) error {
	if name != pipeline.Worker {
		return c.pipeline.Start(name)
	}
	at := pipeline.Services{Temporal: c.temporal.addr(), S3: c.s3tcp.addr(), Redis: c.redis.addr()}

	return c.pipeline.StartWorker(at, c.env...)
}

// stopped reports whether a process is stopped by a signal.
func stopped(pid int) bool {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, ok := strings.Cut(string(raw), ") ")

	return pid > 0 && err == nil && ok && strings.HasPrefix(rest, "T")
}

// forget ends Temporal and deletes its data. The run is started again, as by `collabui train`.
func (c *Cell) forget(ctx context.Context, name string) error {
	c.pipeline.End(pipeline.Temporal)
	files, err := filepath.Glob(filepath.Join(c.pipeline.Dir, "temporal.db*"))
	if err != nil || len(files) == 0 {
		return fmt.Errorf("no database of Temporal: %w", err)
	}
	for _, f := range files {
		if err := os.Remove(f); err != nil {
			return err
		}
	}

	return eventually(func() error {
		if err := c.supervise(); err != nil {
			return err
		}

		return c.begin(ctx, name)
	})
}
