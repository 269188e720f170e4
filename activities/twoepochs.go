package activities

import (
	"slices"
	"sync"
)

// twoEpochs keeps what was read of the two epochs that were asked for last: the next epoch may roll out beside the
// present one. Its methods may be called concurrently.
type twoEpochs[T any] struct {
	mu   sync.Mutex
	kept []keptOf[T] // the one that was asked for last is the first
}

// keptOf is what is kept of an epoch.
type keptOf[T any] struct {
	epoch int
	value T
}

// of returns what is kept of an epoch, and whether anything is.
func (k *twoEpochs[T]) of(epoch int) (value T, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	at := slices.IndexFunc(k.kept, func(x keptOf[T]) bool { return x.epoch == epoch })
	if at < 0 {
		return value, false
	}
	if at > 0 {
		slices.Reverse(k.kept)
	}

	return k.kept[0].value, true
}

// keep keeps what was read of an epoch, instead of what was asked for longest ago.
func (k *twoEpochs[T]) keep(epoch int, value T) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.kept = slices.DeleteFunc(k.kept, func(x keptOf[T]) bool { return x.epoch == epoch })
	k.kept = append([]keptOf[T]{{epoch, value}}, k.kept[:min(len(k.kept), 1)]...)
}
