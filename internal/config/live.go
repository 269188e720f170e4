package config

import (
	"os"
	"strings"
	"sync"
)

// Live returns a function that returns a secret as it is now, so that it can change without a restart: the content of
// the file that the variable with the suffix _FILE names. If there is none, or it does not say value, which is then of
// another origin, the secret stays value. While the file cannot be read, as in the middle of its replacement, the
// secret is what it was. The function may be called by several goroutines.
func Live(name, value string) func() string {
	if said, err := Secret(name); os.Getenv(name+file) == "" || err != nil || said != value {
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

// First returns a function that returns the first of the keys of the moment, which are separated by white space: the
// one that is sent. Without any it returns "".
func First(keys func() string) func() string {
	return func() string {
		if all := strings.Fields(keys()); len(all) > 0 {
			return all[0]
		}

		return ""
	}
}
