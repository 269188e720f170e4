package view

import (
	"context"
	"fmt"
	"path"
	"strconv"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/records/runs"
)

// parallel is the number of episodes that are read concurrently.
const parallel = 16

// rowCache keeps lines about episodes that cannot change any more.
type rowCache struct {
	mu   sync.Mutex
	rows map[string]row
}

// maxRows bounds the cache.
const maxRows = 200_000

func (c *rowCache) get(key string) (row, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r, ok := c.rows[key]

	return r, ok
}

func (c *rowCache) put(key string, r row) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.rows == nil || len(c.rows) >= maxRows {
		c.rows = map[string]row{}
	}
	c.rows[key] = r
}

// epochRows returns a line about every episode of an epoch that has begun, in the order of slots.
func (l *Library) epochRows(ctx context.Context, run runs.Run, number int) ([]row, error) {
	r, err := newEpoch(ctx, l.Bucket, run, number)
	if err != nil {
		return nil, err
	}
	slots, err := r.begunSlots(ctx)
	if err != nil {
		return nil, err
	}

	of := runs.Digest(r.spec) // after a deletion, another run may have the name
	rows := make([]*row, len(slots))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallel)
	for i, slot := range slots {
		key := fmt.Sprintf("%s/%d/%d/%s", run, number, slot, of)
		if known, ok := l.rows.get(key); ok {
			rows[i] = &known

			continue
		}
		group.Go(func() error {
			episode, begun, err := r.read(ctx, slot)
			if err == nil && !begun { // the list was ahead of the object
				return nil
			}
			if err != nil {
				return err
			}
			x := episode.row()
			rows[i] = &x
			if episode.Pairs != nil {
				l.rows.put(key, x)
			}

			return nil
		})
	}
	err = group.Wait()
	out := make([]row, 0, len(rows))
	for _, x := range rows {
		if x != nil {
			out = append(out, *x)
		}
	}

	return out, err
}

// begunSlots returns the slots of the epoch that have begun, in order.
func (r epoch) begunSlots(ctx context.Context) (out []int, err error) {
	at, err := r.run.In(ctx, r.b, r.number)
	if err != nil {
		return nil, err
	}
	prefix := path.Dir(path.Clean(at.EpisodePrefix(r.number, 0))) + "/"
	folders, err := r.b.Folders(ctx, prefix)
	for _, f := range folders {
		n, bad := strconv.Atoi(f)
		if bad != nil {
			return nil, fmt.Errorf("%s%s is not the folder of a slot", prefix, f)
		}
		out = append(out, n)
	}

	return out, err
}

// episodes returns the details of the episodes of a chunk, by slot.
func (l *Library) episodes(ctx context.Context, run runs.Run, number, first int) (map[int]detail, error) {
	r, err := newEpoch(ctx, l.Bucket, run, number)
	if err != nil {
		return nil, err
	}
	read := make([]*detail, l.Chunk)
	group, gctx := errgroup.WithContext(ctx)
	group.SetLimit(parallel)
	for i := range read {
		group.Go(func() error {
			episode, begun, err := r.read(gctx, first+i)
			if err != nil || !begun {
				return err
			}
			d, err := r.detail(gctx, episode)
			shard := d.Slot - (d.Slot-1)%rules.ShardSize
			d.Workflow = fmt.Sprintf("%s/epoch/%04d/shard/%04d", run, number, shard)
			read[i] = &d

			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}

	out := map[int]detail{}
	for i, d := range read {
		if d != nil {
			out[first+i] = *d
		}
	}
	if len(out) == 0 {
		return nil, r.notBegun(first)
	}

	return out, nil
}
