package store

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync/atomic"
	"time"
)

// Limits of a request. The client itself has no limit for a body that stops in the middle.
const (
	defaultStall = 20 * time.Second // without a byte in either direction
	serverCopies = 15 * time.Minute // the same while the server copies an object and sends nothing
	serverJoins  = 3 * time.Minute  // the same while the server joins an object's parts
	minRate      = 64 << 10         // bytes per second; a slower body counts as stopped
)

// errStalled and errSlow end a request that makes no progress.
var (
	errStalled = errors.New("the object store sent and took nothing for too long")
	errSlow    = errors.New("the object store is too slow: less than 64 KB/s")
)

// stallLimit ends requests that make no progress for a time, or that are slower than minRate after it.
type stallLimit struct {
	next  http.RoundTripper
	limit time.Duration
}

// requestsKey is the context key of the number of requests made with a context.
type requestsKey struct{}

// counted returns a context, and the number of requests made with it: the client repeats some by itself.
func counted(ctx context.Context) (context.Context, *atomic.Int32) {
	n := &atomic.Int32{}

	return context.WithValue(ctx, requestsKey{}, n), n
}

func (s stallLimit) RoundTrip(req *http.Request) (*http.Response, error) {
	if n, ok := req.Context().Value(requestsKey{}).(*atomic.Int32); ok {
		n.Add(1)
	}
	ctx, cancel := context.WithCancelCause(req.Context())
	silence := s.limit
	allowed := s.allowed(req.ContentLength)
	if serverTime := serverWorks(req); serverTime > 0 {
		silence = serverTime
		allowed = serverTime
	}
	w := &watchdog{
		cause: func() error { return context.Cause(ctx) }, cancel: cancel, limit: silence,
		stalled: time.AfterFunc(silence, func() { cancel(errStalled) }),
		slow:    time.AfterFunc(allowed, func() { cancel(errSlow) }),
	}
	req = req.Clone(ctx)
	if req.Body != nil {
		req.Body = &watchedBody{ReadCloser: req.Body, watchdog: w}
	}

	res, err := s.next.RoundTrip(req)
	if err != nil {
		err = w.why(err)
		w.stop()

		return nil, err
	}
	w.slow.Reset(s.allowed(res.ContentLength))
	res.Body = &watchedBody{ReadCloser: res.Body, watchdog: w, ends: true}

	return res, nil
}

// serverWorks returns how long the server may work on a request without sending anything; 0 means the default.
func serverWorks(req *http.Request) time.Duration {
	switch {
	case req.Header.Get("x-amz-copy-source") != "":
		return serverCopies
	case req.Method == http.MethodPost && req.URL.Query().Has("uploadId"):
		return serverJoins
	}

	return 0
}

// allowed returns the time in which a body of n bytes must be sent; a negative n is unknown.
func (s stallLimit) allowed(n int64) time.Duration {
	const unknown = 1 << 30
	if n < 0 {
		n = unknown
	}

	return 3*s.limit + time.Duration(n/minRate)*time.Second
}

// watchdog cancels one request.
type watchdog struct {
	cause         func() error // why the request was cancelled
	cancel        context.CancelCauseFunc
	limit         time.Duration
	stalled, slow *time.Timer
}

// why returns the reason why the request was ended, or err.
func (w *watchdog) why(err error) error {
	if cause := w.cause(); errors.Is(cause, errStalled) || errors.Is(cause, errSlow) {
		return cause
	}

	return err
}

func (w *watchdog) stop() {
	w.stalled.Stop()
	w.slow.Stop()
	w.cancel(nil)
}

// watchedBody is a body whose bytes count as progress. Closing the body of the response ends the request.
type watchedBody struct {
	io.ReadCloser
	*watchdog
	ends bool
}

func (b *watchedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 {
		b.stalled.Reset(b.limit)
	}
	if err != nil && err != io.EOF {
		err = b.why(err)
	}

	return n, err
}

func (b *watchedBody) Close() error {
	if b.ends {
		b.stop()
	}

	return b.ReadCloser.Close()
}
