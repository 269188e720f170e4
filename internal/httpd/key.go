package httpd

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"strings"
)

// Allowed reports whether the bearer token of a request is one of the current keys. If keys is nil or returns "", every
// request is allowed.
func Allowed(r *http.Request, keys func() string) bool {
	if keys == nil {
		return true
	}
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		token = ""
	}

	return Accepted(strings.TrimSpace(token), keys())
}

// Accepted reports whether got is one of the keys, which are separated by white space: several are accepted while one
// replaces another. Without keys, everything is accepted. The time depends on the length of got alone.
func Accepted(got, keys string) bool {
	all := strings.Fields(keys)
	ok := len(all) == 0
	a := sha256.Sum256([]byte(got))
	for _, key := range all {
		b := sha256.Sum256([]byte(key))
		ok = subtle.ConstantTimeCompare(a[:], b[:]) == 1 || ok
	}

	return ok
}

// Locked requires one of the current keys as the password of basic authentication, if there are any keys.
func Locked(handler http.Handler, keys func() string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, got, _ := r.BasicAuth()
		if !Accepted(got, keys()) {
			w.Header().Set("WWW-Authenticate", `Basic realm="collabui", charset="UTF-8"`)
			http.Error(w, "the key is needed: any name, and the key as the password", http.StatusUnauthorized)

			return
		}
		handler.ServeHTTP(w, r)
	})
}
