package recorded

import "sync"

// Once returns a function that calls f until it succeeds, and from then on returns the same result. So files are read
// only once, but a worker in operation finds files that were repaired after a failure. The function may be called
// concurrently.
func Once[T any](f func() (T, error)) func() (T, error) {
	var mu sync.Mutex
	var value T
	read := false

	return func() (T, error) {
		mu.Lock()
		defer mu.Unlock()
		if read {
			return value, nil
		}
		v, err := f()
		if err == nil {
			value = v
			read = true
		}

		return v, err
	}
}
