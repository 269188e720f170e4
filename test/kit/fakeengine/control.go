package fakeengine

import (
	"maps"
	"slices"
	"time"
)

// Restart forgets all adapters and wakes the engine, as a new process would.
func (e *Engine) Restart() {
	e.mu.Lock()
	defer e.mu.Unlock()

	e.adapters = nil
	e.asleep = false
}

// Down sets whether every connection breaks off.
func (e *Engine) Down(down bool) {
	e.mu.Lock()
	defer e.mu.Unlock()

	e.down = down
}

// Slow sets how long chats of more than one token take.
func (e *Engine) Slow(duration time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()

	e.slow = duration
}

// FailLoad makes the next load fail with a status and a text.
func (e *Engine) FailLoad(status int, text string) {
	e.mu.Lock()
	defer e.mu.Unlock()

	e.broken = append(e.broken, failure{status, text})
}

// FailChat makes the next chat fail with a status and a text.
func (e *Engine) FailChat(status int, text string) {
	e.mu.Lock()
	defer e.mu.Unlock()

	e.mute = append(e.mute, failure{status, text})
}

// Put loads a folder under a name, as another client would.
func (e *Engine) Put(name, dir string) {
	e.mu.Lock()
	defer e.mu.Unlock()

	if e.adapters == nil {
		e.adapters = map[string]string{}
	}

	e.adapters[name] = dir
}

// Loaded returns the names of the adapters, sorted.
func (e *Engine) Loaded() []string {
	e.mu.Lock()
	defer e.mu.Unlock()

	return slices.Sorted(maps.Keys(e.adapters))
}

// Asleep reports whether the engine sleeps.
func (e *Engine) Asleep() bool {
	e.mu.Lock()
	defer e.mu.Unlock()

	return e.asleep
}

// Calls returns the number of requests to a path.
func (e *Engine) Calls(path string) int {
	e.mu.Lock()
	defer e.mu.Unlock()

	return e.calls[path]
}

// Bodies returns the bodies of all chats so far, probes included.
func (e *Engine) Bodies() [][]byte {
	e.mu.Lock()
	defer e.mu.Unlock()

	return slices.Clone(e.bodies)
}
