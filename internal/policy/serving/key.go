package serving

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"strings"
)

// Allowed reports whether a request carries one of the keys of this moment, which are separated by white space, as its
// bearer token. Several are accepted while one replaces another. It takes the same time for every token. Without a key,
// or with nil, every request is allowed.
func Allowed(r *http.Request, keys func() string) bool {
	if keys == nil {
		return true
	}
	all := strings.Fields(keys())
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	ok := len(all) == 0
	for _, key := range all {
		ok = SameKey(strings.TrimSpace(token), key) && strings.EqualFold(scheme, "Bearer") || ok
	}

	return ok
}

// SameKey reports whether a key is the right one. It takes the same time for every key.
func SameKey(got, right string) bool {
	a, b := sha256.Sum256([]byte(got)), sha256.Sum256([]byte(right))

	return subtle.ConstantTimeCompare(a[:], b[:]) == 1
}
