package llm

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"time"

	"github.com/collabui/collabui/envadapters/hosts"
	"github.com/collabui/collabui/fault"
)

// statusOf returns the HTTP status that caused an error of a call, or 0 if no answer came.
func statusOf(err error) int {
	var no *refusal
	if errors.As(err, &no) {
		return no.status
	}

	return 0
}

// classify returns the fault of a failed call. The status of a refusal decides. Errors of calls are classified only
// here.
func (c *Client) classify(err error, model string) error {
	var no *refusal
	switch {
	case errors.As(err, &no):
		return c.classifyRefusal(no, model)
	case hosts.Refused(err) != nil:
		return fault.New(fault.Invalid, "model %s: base_url or proxy: %w", model, hosts.Refused(err))
	case fault.KindOf(err) == fault.Invalid: // a redirect, or a key that no request can carry
		return fault.New(fault.Invalid, "model %s: %w", model, err)
	case errors.Is(err, context.DeadlineExceeded):
		return fault.New(fault.Transient, "model %s gave no answer within %v", model, c.conf.Timeout)
	}

	// Errors of the transport quote text that the server sent.
	return fault.New(fault.Transient, "model %s: %s", model, c.hide(oneLine(err.Error())))
}

// classifyRefusal returns the fault of a refusal. A refusal without a status is transient.
func (c *Client) classifyRefusal(no *refusal, model string) error {
	base := redactURL(c.conf.BaseURL)
	switch status := no.status; {
	case no.lasting, no.page && status == http.StatusForbidden:
		return fault.New(fault.Invalid, "%s answers for model %s with a web page, such as the page of a proxy: %w "+
			"(correct base_url, or let programs through there)", base, model, no)
	case status == http.StatusTooManyRequests, mayPassLater(status) && no.delay > 0:
		return fault.After(fault.Throttled, no.delay, "model %s%s: %w", model, waitText(no.delay, c.now()), no)
	case status == http.StatusInternalServerError && unsupportedRequest.MatchString(no.words):
		return fault.New(fault.Refused, "model %s refused the request: %w", model, no)
	case status == 0, mayPassLater(status):
		return fault.New(fault.Transient, "model %s: %w", model, no)
	case status == http.StatusPaymentRequired: // waiting does not help
		return fault.New(fault.Invalid, "the account at %s has no quota left for model %s: %w (raise it there)",
			base, model, no)
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return fault.New(fault.Invalid, "%s refuses the key for model %s: %w "+
			"(check the variable that `key` names, for policies COLLABUI_POLICY_KEY)", base, model, no)
	case status == http.StatusNotFound && c.conf.Model == "": // a policy that is not loaded yet
		return fault.New(fault.Transient, "model %s is not served: %w", model, no)
	case status == http.StatusNotFound:
		return fault.New(fault.Invalid, "%s has no model %s: correct base_url, which usually ends with /v1, "+
			"or model: %w", base, model, no)
	case status == http.StatusBadRequest, status == http.StatusRequestEntityTooLarge,
		status == http.StatusUnprocessableEntity:
		return fault.New(fault.Refused, "model %s refused the request: %w", model, no)
	}

	return fault.New(fault.Invalid, "model %s refused the request: %w", model, no)
}

// waitText describes how long a server wants a client to wait and, from a minute on, also when the wait ends.
func waitText(delay time.Duration, now time.Time) string {
	switch {
	case delay == 0:
		return ""
	case delay < time.Minute:
		return fmt.Sprintf(", asked to wait %s", delay)
	}

	return fmt.Sprintf(", asked to wait %s, until %s",
		delay.Round(time.Second), now.Add(delay).UTC().Format("2006-01-02 15:04 MST"))
}

// unsupportedRequest matches messages of servers that answer 500 to a request that they will never accept, such as
// llama.cpp's to an image if its model reads none.
var unsupportedRequest = regexp.MustCompile(`(?i)\b(is|are) not supported\b|\bdo(es)? not support\b`)

// Statuses that package http does not name.
const (
	noCapacity = 498 // Groq; others refuse a token with it and name the reason
	tlsFailed  = 525 // Cloudflare, to the server behind it
	badOrigin  = 526 // Cloudflare: the certificate of the server behind it
)

// mayPassLater reports whether a server with this status has failed, or may accept the same request later.
func mayPassLater(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooEarly, noCapacity:
		return true
	case http.StatusNotImplemented, http.StatusHTTPVersionNotSupported, http.StatusNetworkAuthenticationRequired,
		tlsFailed, badOrigin:
		return false
	}

	return status >= http.StatusInternalServerError
}
