package httpd

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"strings"
)

// Allowed reports whether a request carries one of the keys of this moment as its bearer token. Without a key, or with
// nil, every request is allowed.
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
// replaces another. Without a key everything is. It takes the same time for everything that is as long.
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

// Locked asks for one of the keys of the moment, as the password of basic authentication, if there are any.
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
