package config

import (
	"regexp"
	"strings"

	"github.com/collabui/collabui/internal/failpoint"
	"github.com/collabui/collabui/internal/store"
)

// failing is a store.Around with a failpoint for every kind of object.
func failing(operation, key string, effect func(torn bool) error) error {
	return failpoint.Do(operation+"."+failpointPlace(key), effect)
}

// numbers matches the parts in which objects of one kind differ: numbers, digests, and names of evaluated items.
var numbers = regexp.MustCompile(`/a?\d+|/[0-9a-f]{64}|-\d{6}|calls/..|evals/.+/(\d+$)?`)

// failpointPlace returns the name of a key for failpoints: the path without names and numbers.
func failpointPlace(key string) string {
	if store.IsBlob(key) {
		return strings.TrimSuffix(store.BlobPrefix, "/")
	}
	parts := strings.SplitN(strings.TrimSuffix(key, ".json"), "/", 3) // runs, a name, the rest

	return strings.Trim(numbers.ReplaceAllStringFunc("/"+parts[len(parts)-1], func(text string) string {
		if strings.HasPrefix(text, "evals/") || strings.HasPrefix(text, "calls/") {
			return text[:6]
		}

		return ""
	}), "/")
}
