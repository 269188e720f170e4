// Package httpd is what our HTTP servers share: where they may listen, whom they answer, how they end. It knows internal/fault.
package serving

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/collabui/collabui/fault"
)

// Limits of a request, so that nobody holds a connection for nothing.
const (
	headerTimeout = 10 * time.Second
	bodyTimeout   = time.Minute
)

// Listen takes an address, HOST:PORT. Without a key it must be one of this machine's loopback, because whoever reaches the port may use what is behind it; variable is where the key
// comes from.
func Listen(addr, key, variable string) (net.Listener, error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fault.New(fault.Invalid, "listen on %q: expected HOST:PORT, such as 127.0.0.1:8080", addr)
	}
	if ip := net.ParseIP(host); key == "" && host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, fault.New(fault.Invalid, "%s can be reached from other machines, and no key is asked for: set %s (or %s_FILE), or listen on 127.0.0.1", addr, variable, variable)
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fault.New(fault.Invalid, "listen on %s: %w (choose another address)", addr, err)
	}
	return l, nil
}

// Serve answers until ctx ends; what is being answered then is finished, for at most the drain's time.
func Serve(ctx context.Context, l net.Listener, h http.Handler, drain time.Duration) error {
	srv := &http.Server{Handler: h, ReadHeaderTimeout: headerTimeout, ReadTimeout: bodyTimeout, IdleTimeout: 2 * time.Minute}
	ended := make(chan error, 1)
	stop := context.AfterFunc(ctx, func() {
		d, cancel := context.WithTimeout(context.Background(), drain)
		defer cancel()
		ended <- srv.Shutdown(d)
	})
	err := srv.Serve(l)
	if stop() {
		return fault.As(fault.Transient, err) // it ended by itself
	}
	if err := <-ended; err != nil {
		return errors.Join(fault.New(fault.Transient, "requests that took longer than %v were cut", drain), srv.Close())
	}
	return nil
}

// Allowed tells whether a request has the key as its bearer token, in a time that says nothing of the key; without a key every request has it.
func Allowed(r *http.Request, key string) bool {
	if key == "" {
		return true
	}
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	got, want := sha256.Sum256([]byte(strings.TrimSpace(token))), sha256.Sum256([]byte(key))
	return strings.EqualFold(scheme, "Bearer") && subtle.ConstantTimeCompare(got[:], want[:]) == 1
}
