package llm

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"

	"github.com/collabui/collabui/fault"
)

// reply is a server's answer to a request.
type reply struct {
	status int
	header http.Header
	body   []byte
}

// failed reports whether the status is a failure.
func (r reply) failed() bool { return r.status >= http.StatusMultipleChoices }

// send makes a request and returns the server's answer, which wire bounds. If the body breaks off, it returns an error
// together with what has arrived, or only the latter if the status is a failure.
func (c *Client) send(ctx context.Context, method, address string, body []byte) (reply, error) {
	req, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
	if err != nil {
		return reply{}, err
	}

	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")

	res, err := c.http.Do(req)
	var wrapped *url.Error
	if errors.As(err, &wrapped) && fault.KindOf(err) == fault.Invalid {
		err = wrapped.Err // it names the address itself, without secrets
	}
	if err != nil {
		return reply{}, err
	}
	defer func() { _ = res.Body.Close() }()

	out := reply{status: res.StatusCode, header: res.Header}
	out.body, err = io.ReadAll(res.Body)
	if out.failed() {
		err = nil
	}

	return out, err
}
