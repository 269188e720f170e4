package llm

import (
	"io"
	"net/http"
	"strings"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/httpd"
)

// wire is a transport that adds the endpoint's headers and bounds responses.
type wire struct {
	next    http.RoundTripper
	base    string // for errors
	key     func() string
	azure   bool // sends a key in the form that Azure requires
	headers map[string]string
	kernel  string // refuses a server that reports another kernel
}

// Bounds on a response, in bytes: on an answer, and on a refusal, whose first words become part of an error.
const (
	maxAnswer  = 32 << 20
	maxRefusal = 64 << 10
)

func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	key, err := w.secret()
	if err != nil {
		return nil, err
	}
	if key != "" || len(w.headers) > 0 {
		r = r.Clone(r.Context())
		if key != "" {
			w.authorize(r.Header, key)
		}
		for k, value := range w.headers {
			r.Header.Set(k, value)
		}
	}

	res, err := w.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}

	if k := res.Header.Get(httpd.KernelHeader); w.kernel != "" && k != "" && k != w.kernel {
		_ = res.Body.Close()

		return nil, fault.New(fault.Transient, "policy server %s computes with the kernel %s, this worker with %s: "+
			"answers would have other bits; run all on the same kind of machine, or all with COLLABUI_KERNEL=portable",
			r.URL.Host, k, w.kernel)
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

// secret returns the key, which may change between two requests. A key or a header that no request can carry is an
// invalid fault.
func (w *wire) secret() (string, error) {
	key := ""
	if w.key != nil {
		key = w.key()
	}

	return key, checkSendable(w.base, key, w.headers)
}

// authorize adds a key. Deployments on Azure take keys in a separate header, but a token of Entra, which is a JWT, is a
// bearer token there, too.
func (w *wire) authorize(header http.Header, key string) {
	if w.azure && !strings.HasPrefix(key, "eyJ") {
		header.Set("Api-Key", key)

		return
	}

	header.Set("Authorization", "Bearer "+key)
}
