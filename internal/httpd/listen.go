package httpd

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/collabui/collabui/fault"
)

// Timeouts of a connection, so that a client that sends nothing does not hold one forever.
const (
	headerTimeout = 10 * time.Second
	bodyTimeout   = time.Minute
	idleTimeout   = 2 * time.Minute
)

// maxRequests is the number of requests that a server handles concurrently. It rejects others with the advice to come
// back.
const maxRequests = 512

// bounded handles at most the given number of requests concurrently.
func bounded(handler http.Handler, most int) http.Handler {
	places := make(chan struct{}, most)

	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case places <- struct{}{}:
			defer func() { <-places }()
			handler.ServeHTTP(w, r)
		default:
			w.Header().Set("Retry-After", "1")
			http.Error(w, "too many requests at once", http.StatusServiceUnavailable)
		}
	})
}

// Listen listens on an address, HOST:PORT. Without a key the address must be on this machine's loopback, because every
// client that reaches the port may use the server. variable is the environment variable that contains the key.
func Listen(addr, key, variable string, files TLS) (net.Listener, error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fault.New(fault.Invalid, "listen on %q: expected HOST:PORT, such as 127.0.0.1:8080", addr)
	}

	open := len(strings.Fields(key)) == 0
	if ip := net.ParseIP(host); open && host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, fault.New(fault.Invalid,
			"%s can be reached from other machines without a key: set %s (or %s_FILE), or listen on 127.0.0.1",
			addr, variable, variable)
	}

	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fault.New(fault.Invalid, "listen on %s: %w (choose another address)", addr, err)
	}
	s, err := files.secure(listener)
	if err != nil {
		_ = listener.Close()

		return nil, err
	}

	return s, nil
}

// Guarded returns handler for a server on listener, wrapped in Guard if only this machine reaches listener.
func Guarded(listener net.Listener, handler http.Handler, origins ...string) http.Handler {
	if tcpAddr, ok := listener.Addr().(*net.TCPAddr); ok && tcpAddr.IP.IsLoopback() {
		return Guard(handler, origins...)
	}

	return handler
}

// Serve answers requests until ctx ends. It then finishes the requests in flight, within drain. On the loopback it
// answers foreign pages only from the given origins; see Guard.
func Serve(ctx context.Context, listener net.Listener, h http.Handler, drain time.Duration, origins ...string) error {
	srv := &http.Server{
		Handler:           bounded(Guarded(listener, h, origins...), maxRequests),
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       bodyTimeout,
		IdleTimeout:       idleTimeout,
	}

	drained := make(chan error, 1)
	stop := context.AfterFunc(ctx, func() {
		d, cancel := context.WithTimeout(context.Background(), drain)
		defer cancel()

		drained <- srv.Shutdown(d)
	})

	err := srv.Serve(listener)
	if stop() { // the server ended before ctx did
		return fault.As(fault.Transient, err)
	}

	if err := <-drained; err != nil {
		cut := fault.New(fault.Transient, "requests that took longer than %v were cut off", drain)

		return errors.Join(cut, srv.Close())
	}

	return nil
}
