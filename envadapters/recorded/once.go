package recorded

import "sync"

// Once returns a function that calls f until it succeeds, and then returns what it returned: files that were read stay
// read, and files that a person has put right since are found by a worker that runs. It may be called concurrently.
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
