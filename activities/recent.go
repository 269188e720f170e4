package activities

import (
	"slices"
	"sync"
)

// recentEpochs is the number of epochs of which a process keeps what it has read: an epoch, the next one, which may
// roll out beside it, the end of the run and stage 1.
const recentEpochs = 4

// recent keeps what was read of the epochs that were used last. Its methods may be called concurrently.
type recent[T any] struct {
	mu   sync.Mutex
	kept []epochValue[T] // the one that was used last is the first
}

// epochValue is what is kept of an epoch.
type epochValue[T any] struct {
	epoch int
	value T
}

// find returns what is kept of an epoch, and reports whether anything is.
func (r *recent[T]) find(epoch int) (value T, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	at := slices.IndexFunc(r.kept, func(kept epochValue[T]) bool { return kept.epoch == epoch })
	if at < 0 {
		return value, false
	}
	found := r.kept[at]
	r.kept = slices.Insert(slices.Delete(r.kept, at, at+1), 0, found)

	return found.value, true
}

// keep keeps what was read of an epoch, in the place of what was used longest ago.
func (r *recent[T]) keep(epoch int, value T) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.kept = slices.DeleteFunc(r.kept, func(kept epochValue[T]) bool { return kept.epoch == epoch })
	r.kept = slices.Insert(r.kept, 0, epochValue[T]{epoch, value})
	r.kept = r.kept[:min(len(r.kept), recentEpochs)]
}
