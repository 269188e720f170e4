package config

import (
	"os"
	"strings"
	"sync"
)

// Live returns a function that returns the current value of a secret, so that it can change without a restart: the
// content of the file that the variable with the suffix _FILE names. If no such variable is set, or if the file does
// not contain value, so that value has another origin, the secret remains value. While the file cannot be read, such as
// in the middle of its replacement, the secret keeps its previous value. The function is safe for concurrent use.
func Live(name, value string) func() string {
	if content, err := Secret(name); os.Getenv(name+file) == "" || err != nil || content != value {
		return func() string { return value }
	}
	var mu sync.Mutex

	return func() string {
		mu.Lock()
		defer mu.Unlock()
		if now, err := Secret(name); err == nil && now != "" {
			value = now
		}

		return value
	}
}

// First returns a function that returns the first of the current keys, which are separated by white space. The first
// key is the one that is sent. Without keys it returns "".
func First(keys func() string) func() string {
	return func() string {
		if all := strings.Fields(keys()); len(all) > 0 {
			return all[0]
		}

		return ""
	}
}
