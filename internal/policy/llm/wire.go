package llm

import (
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/policy/serving"
)

// wire is a transport that adds the endpoint's headers, bounds responses, and notes Retry-After, which go-openai hides.
type wire struct {
	next    http.RoundTripper
	key     func() string // of the bearer
	headers map[string]string
	kernel  string // refuses a server that names another one
}

// Bounds of a response, in bytes: of an answer, and of a refusal, which becomes part of an error.
const (
	maxAnswer  = 32 << 20
	maxRefusal = 4 << 10
)

// retryKey is the context's key of a *time.Duration that gets the server's Retry-After.
type retryKey struct{}

func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	key := ""
	if w.key != nil {
		key = w.key()
	}
	if key != "" || len(w.headers) > 0 {
		r = r.Clone(r.Context())
		if key != "" {
			r.Header.Set("Authorization", "Bearer "+key)
		}
		for k, v := range w.headers {
			r.Header.Set(k, v)
		}
	}

	res, err := w.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}

	if k := res.Header.Get(serving.KernelHeader); w.kernel != "" && k != "" && k != w.kernel {
		_ = res.Body.Close()

		return nil, fault.New(fault.Transient, "policy server %s computes with the kernel %s, this worker with %s: "+
			"answers would have other bits; run all on the same kind of machine, or all with COLLABUI_KERNEL=portable",
			r.URL.Host, k, w.kernel)
	}

	if to, ok := r.Context().Value(retryKey{}).(*time.Duration); ok {
		*to = retryAfter(res.Header, time.Now())
	}

	bound := int64(maxAnswer)
	if res.StatusCode >= 400 {
		bound = maxRefusal
	}

	res.Body = struct {
		io.Reader
		io.Closer
	}{io.LimitReader(res.Body, bound), res.Body}

	return res, nil
}

// retryAfter reads Retry-After in both its forms, and the milliseconds that some servers send. It is 0 without any.
func retryAfter(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms > 0 {
		return time.Duration(ms * float64(time.Millisecond))
	}

	v := h.Get("Retry-After")
	if s, err := strconv.ParseFloat(v, 64); err == nil && s > 0 {
		return time.Duration(s * float64(time.Second))
	}

	if at, err := http.ParseTime(v); err == nil && at.After(now) {
		return at.Sub(now)
	}

	return 0
}
