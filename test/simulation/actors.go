package simulation

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/care/collect"
	"github.com/collabui/collabui/internal/care/fork"
	"github.com/collabui/collabui/internal/care/transfer"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/workers/catalog"
)

// grace is the grace period of all collections.
const grace = 6 * time.Hour

// acts reports whether actors that need other runs in the store take part.
func acts(faults []Fault) bool {
	for _, f := range faults {
		switch f.Kind {
		case GC, Copy, DeleteOther, DeleteAgain, Undelete:
			return true
		}
	}

	return false
}

// arrange lets an event take place, unless it is impossible now.
func (w *world) arrange(kind FaultKind) bool {
	switch kind {
	case S3Behind:
		w.s3.behind(time.Duration(1+w.order.IntN(30))*time.Second, time.Minute)
	case S3HoursBehind:
		w.s3.behind(time.Duration(1+w.order.IntN(5))*time.Hour, time.Hour)
	case S3Older:
		w.startAgain()
		w.s3.disk.setBack(w.first + w.order.IntN(w.s3.disk.writes-w.first+1))
	case ClockOff:
		w.s3.disk.ahead = time.Duration(w.order.IntN(60)-30) * time.Hour
	case TemporalOlder:
		return w.setTemporalBack()
	case ChildCancelled, ChildEnds:
		return w.endChild(kind == ChildEnds)
	default:
		w.actor(kind)
	}

	return true
}

// tries is how often an actor tries again when it fails or its process dies: long enough for a store that is away or
// full to recover. cleanings is the largest number of collections that it takes to remove the rest of a deleted run.
const (
	tries     = 1000
	cleanings = 20
)

// actor lets someone act beside the run, who tries again after a temporary fault, or when the process has died.
func (w *world) actor(kind FaultKind) {
	number := w.struck[kind]
	random := domain.Rand(w.seed, string(kind), number)
	days := 1 + random.IntN(60)
	do := map[FaultKind]func(context.Context) error{
		GC:          func(ctx context.Context) error { return w.nights(ctx, w.s3, 3) },
		Copy:        w.copies,
		Fork:        func(ctx context.Context) error { return w.fork(ctx, fmt.Sprintf("fork-%d", number)) },
		DeleteOther: w.deleteOther,
		DeleteAgain: w.deleteAgain,
		Undelete:    w.undelete,
		Pause:       func(ctx context.Context) error { return w.pause(ctx, days) },
		Stop:        func(ctx context.Context) error { return w.stopFor(ctx, days) },
		Set:         w.set,
	}[kind]
	w.people.Go(func() { w.insist(fmt.Sprintf("%s %d", kind, number), do) })
}

// insist lets an actor try something until it succeeds or proves impossible.
func (w *world) insist(name string, do func(context.Context) error) {
	for try := range tries {
		ctx, e := w.process(fmt.Sprintf("%s#%d", name, try))
		err := do(ctx)
		w.over(e, nil)
		if e.isDead() {
			time.Sleep(10 * time.Minute)

			continue
		}
		e.cancel(nil)
		if err == nil {
			return
		}
		w.mu.Lock()
		w.note("%s: %v", e.name, err)
		w.mu.Unlock()
		if fault.KindOf(err) != fault.Transient || errors.Is(err, store.ErrNotFound) {
			return
		}
		time.Sleep(time.Hour)
	}
}

// process begins a process of an actor.
func (w *world) process(name string) (context.Context, *execution) {
	ctx, cancel := context.WithCancelCause(context.Background())
	e := &execution{name: name, actor: true, giveUp: make(chan struct{}), cancel: cancel}
	w.mu.Lock()
	w.live[e] = true
	w.mu.Unlock()

	return context.WithValue(ctx, executionKey{}, e), e
}

func quiet(int, int) {}

// nights collects garbage the given number of times, one grace period after the other.
func (w *world) nights(ctx context.Context, s *s3, n int) error {
	b, err := s.open()
	if err != nil {
		return err
	}
	for range n {
		report, err := collect.Collect(ctx, b, collect.Policy{Grace: grace, Who: who}, false, quiet)
		if err != nil && fault.KindOf(err) != fault.Invalid { // another collection is at work
			return err
		}
		for what, tally := range map[string]collect.Tally{
			"removed manifests": report.Removed, "put blobs into the trash": report.Trashed,
			"freed objects": report.Freed, "restored objects": report.Restored,
		} {
			if tally.Objects > 0 {
				w.effect("gc " + what)
			}
		}
		if !w.sleep(ctx, grace+time.Hour) {
			return context.Cause(ctx)
		}
	}

	return nil
}

// copies copies the run to a second store, whose garbage is collected meanwhile, and back.
func (w *world) copies(ctx context.Context) error {
	to, err := w.second.open()
	if err != nil {
		return err
	}
	name := w.Spec.Name
	w.make(w.second.disk, name, true)
	began := time.Now()
	before := w.s3.disk.list(runs.Run(name).Prefix(), 0)
	collecting, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	w.people.Go(func() {
		for w.sleep(collecting, grace/2) {
			w.insist("gc of copies", func(ctx context.Context) error { return w.nights(ctx, w.second, 2) })
		}
	})
	_, err = transfer.Runs(ctx, w.bucket, to, []string{name}, quiet)
	if err != nil {
		w.givenUp(w.second.disk, name, err)

		return err
	}
	w.make(w.second.disk, name, false)
	w.effect("a run was copied")
	if w.s3.until.After(began) { // a replica has an earlier state, and so has a copy of it
		before = nil
	}
	w.checkCopy(ctx, before)

	report, err := transfer.Runs(ctx, to, w.bucket, []string{name}, quiet)
	if err == nil && report.Written > 0 {
		w.effect("objects were copied back")
	}

	return err
}

// checkCopy checks that a copy has all objects that the original had when the copy began, except those that copies
// leave out.
func (w *world) checkCopy(ctx context.Context, before []entry) {
	for _, o := range before {
		if runs.IsLocal(o.key) {
			continue
		}
		if w.second.disk.get(o.key, 0).body == nil && w.s3.disk.get(o.key, 0).body != nil {
			w.violated("the copy is said to be whole, and has no %s", o.key)
		}
	}
	for _, p := range fsck(ctx, w.second.disk.copied(ctx)) {
		w.violated("in the copy: %s", p)
	}
}

// make records that someone begins, or has stopped, to make a run of objects in a store.
func (w *world) make(d *disk, run string, begins bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.making[fmt.Sprintf("%p %s", d, run)] = begins
}

// givenUp records that a run whose making failed is no longer being made, unless the error is temporary.
func (w *world) givenUp(d *disk, run string, err error) {
	if fault.KindOf(err) != fault.Transient || errors.Is(err, store.ErrNotFound) {
		w.make(d, run, false)
	}
}

// fork makes an unchanged fork of the run, as soon as it can be forked.
func (w *world) fork(ctx context.Context, name string) error {
	f, err := fork.Plan(ctx, w.bucket, fork.Request{
		Run: runs.Run(w.Spec.Name), Name: runs.Run(name), Who: who, At: time.Now(),
	}, spec.Source{}, catalog.All{})
	if fault.KindOf(err) == fault.Invalid { // stage 1 has not ended
		return fault.As(fault.Transient, err)
	}
	if err != nil {
		return err
	}
	w.make(w.s3.disk, name, true)
	if err := f.Make(ctx, w.bucket, func(int) {}); err != nil {
		w.givenUp(w.s3.disk, name, err)

		return err
	}
	w.make(w.s3.disk, name, false)
	w.mu.Lock()
	w.forks = append(w.forks, name)
	w.mu.Unlock()

	return nil
}

// deleteOther deletes another run, whose policies are the run's, and collects garbage.
func (w *world) deleteOther(ctx context.Context) error {
	return w.deleted(ctx, spare, func() (bool, error) { return false, nil })
}

// deleted deletes a run and collects garbage until nothing is left of it.
func (w *world) deleted(ctx context.Context, name runs.Run, goesOn func() (bool, error)) error {
	decision := runs.Decision{Who: who, Why: "a simulation", At: time.Now()}
	err := collect.Delete(ctx, w.bucket, name, decision, goesOn)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	w.effect("a run was deleted")
	for range cleanings {
		if len(w.s3.disk.list(name.Prefix(), 0)) == 0 {
			w.effect("a deleted run was removed")

			return nil
		}
		if err := w.nights(ctx, w.s3, 1); err != nil {
			return err
		}
	}

	return nil
}

// undelete deletes another run, and takes it back while garbage is collected.
func (w *world) undelete(ctx context.Context) error {
	objects := w.s3.disk.list(runs.Run(spare).Prefix(), 0)
	ignored := func() (bool, error) { return false, nil }
	d := runs.Decision{Who: who, Why: "a simulation", At: time.Now()}
	if err := collect.Delete(ctx, w.bucket, spare, d, ignored); err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	if err := w.nights(ctx, w.s3, int(w.seed/actorEvery%4)); err != nil {
		return err
	}
	recovered, err := collect.Undelete(ctx, w.bucket, spare, d)
	if fault.KindOf(err) == fault.Invalid { // a collection is at work
		err = fault.As(fault.Transient, err)
	}
	if err != nil {
		return err
	}
	if recovered.Trash.Objects > 0 {
		w.effect("objects came back from the trash")
	}
	if recovered.Versions.Objects > 0 {
		w.effect("objects came back from versions")
	}
	for _, o := range objects {
		if !removable.MatchString(o.key) && w.s3.disk.get(o.key, 0).body == nil {
			w.violated("%s was taken back without %s", spare, o.key)
		}
	}
	w.effect("a deleted run was taken back")

	return nil
}

// deleteAgain stops the run, deletes it, and begins it again when nothing is left of it.
func (w *world) deleteAgain(ctx context.Context) error {
	stopped, err := w.halt(ctx)
	if err != nil {
		return err
	}
	goesOn := func() (bool, error) { return w.stageNow() == running, nil }
	if err := w.deleted(ctx, runs.Run(w.Spec.Name), goesOn); err != nil {
		if stopped && fault.KindOf(err) != fault.Transient {
			w.train()
		}

		return err
	}
	w.record()
	w.first = w.s3.disk.writes // in an earlier state of the store the run is deleted
	w.train()
	w.effect("a run of the name of a deleted one was begun")

	return nil
}

// stopFor stops the run for some days.
func (w *world) stopFor(ctx context.Context, days int) error {
	stopped, err := w.halt(ctx)
	if err != nil || !stopped {
		return err
	}
	w.effect("a person stopped the run")
	if !w.sleep(ctx, time.Duration(days)*24*time.Hour) {
		return context.Cause(ctx)
	}
	w.train()

	return nil
}

// train continues the run, unless it is running.
func (w *world) train() {
	if w.stageNow() == running {
		return
	}
	select {
	case w.trained <- struct{}{}:
	default:
	}
}

// removable matches manifests that may be removed although their run was not deleted: checkpoints, calls and marks.
var removable = regexp.MustCompile(`-checkpoint-|/marks/|/calls/|/deleted\.json$`)

// guard returns a function that records the removal of a manifest that must stay, because its run was not deleted or is
// being made.
func (w *world) guard(d *disk) func(string) {
	return func(key string) {
		name := runs.Run(runs.NameOf(key))
		if name == "" || removable.MatchString(key) || d.get(key, 0).body == nil {
			return
		}
		exists := d.get(name.Spec().Key, 0).body != nil && d.get(name.Deleted().Key, 0).body == nil
		w.mu.Lock()
		made := w.making[fmt.Sprintf("%p %s", d, name)]
		w.mu.Unlock()
		switch {
		case exists:
			w.violated("%s was removed, and nobody deleted its run", key)
		case made:
			w.violated("%s was removed, and its run is being made", key)
		}
	}
}
