package serving

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"strings"
)

// Allowed reports whether a request carries the key as its bearer token. It takes the same time for every token. With
// an empty key every request is allowed.
func Allowed(r *http.Request, key string) bool {
	if key == "" {
		return true
	}

	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")

	return strings.EqualFold(scheme, "Bearer") && SameKey(strings.TrimSpace(token), key)
}

// SameKey reports whether a key is the right one. It takes the same time for every key.
func SameKey(got, right string) bool {
	a, b := sha256.Sum256([]byte(got)), sha256.Sum256([]byte(right))

	return subtle.ConstantTimeCompare(a[:], b[:]) == 1
}
