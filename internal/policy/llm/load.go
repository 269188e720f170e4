package llm

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/collabui/collabui/fault"
)

// Load has all servers load a policy concurrently and succeeds as soon as a quorum of them has it; the others get a few
// more seconds. quorum must be from 1 to the number of servers, or 0 for all. If the quorum fails, the fault names the
// servers that failed and their reasons. It is invalid if one of them refuses the policy, and otherwise transient. Load
// may be repeated.
func (p *Pool) Load(ctx context.Context, name string, quorum int) error {
	n := len(p.servers)
	if quorum < 0 || quorum > n {
		return fault.New(fault.Invalid, "load policy %s: a quorum of %d policy servers is impossible, there are %d; "+
			"lower it or name more servers in COLLABUI_POLICY", name, quorum, n)
	}

	if quorum == 0 {
		quorum = n
	}

	inner, cancel := context.WithCancel(ctx)
	defer cancel()

	type result struct {
		i   int
		err error
	}

	done := make(chan result, n)
	errs := make([]error, n)
	loaded := 0
	for i, s := range p.servers {
		go func() { done <- result{i, s.client.Load(inner, name)} }()
	}

	var late <-chan time.Time
	for range n {
		select {
		case r := <-done:
			errs[r.i] = r.err
			if r.err != nil {
				continue
			}

			p.mu.Lock()
			p.servers[r.i].noteSuccess(name)
			p.mu.Unlock()
			if loaded++; loaded == quorum {
				late = time.After(p.lateWait)
			}
		case <-late:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}

	switch {
	case loaded >= quorum:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}

	kind, reasons := p.reasons(errs)

	return fault.New(kind, "policy %s is on %d of %d policy servers, %d are needed: %s",
		name, loaded, n, quorum, reasons)
}

// reasons combines the servers' errors into the kind of a fault and its text.
func (p *Pool) reasons(errs []error) (fault.Kind, string) {
	kind := fault.Transient
	var reasons []string
	for i, err := range errs {
		if err != nil {
			reasons = append(reasons, p.servers[i].url+": "+err.Error())
			if fault.KindOf(err) == fault.Invalid {
				kind = fault.Invalid
			}
		}
	}

	return kind, strings.Join(reasons, "; ")
}

// alreadyLoaded matches the text with which vLLM and SGLang refuse, with status 400, an adapter that they already have.
// They have no code for it.
var alreadyLoaded = regexp.MustCompile(`(?i)already (been )?loaded`)

// Load has the server load a policy by vLLM's paths. A policy that is already loaded is a success, so Load may be
// repeated. A policy that the server cannot find and a server that does not answer are transient faults; a policy that
// it refuses is an invalid fault. Both quote the first 400 characters of the server's message.
func (c *Client) Load(ctx context.Context, name string) error {
	parent := ctx
	ctx, cancel := context.WithTimeout(ctx, c.conf.Timeout)
	defer cancel()

	body, err := json.Marshal(map[string]string{"lora_name": name, "lora_path": name})
	if err != nil {
		return fault.As(fault.Fatal, err)
	}

	got, err := c.send(ctx, http.MethodPost, c.url("/load_lora_adapter"), body)
	switch {
	case err != nil && parent.Err() != nil:
		return context.Cause(parent)
	case err != nil && ctx.Err() != nil:
		return fault.New(fault.Transient, "load policy %s: no answer within %v", name, c.conf.Timeout)
	case err != nil && fault.KindOf(err) == fault.Invalid: // a redirect, or a key that no request can carry
		return fmt.Errorf("load policy %s: %w", name, err)
	case err != nil:
		return fault.New(fault.Transient, "load policy %s: %s", name, c.hide(oneLine(err.Error())))
	case got.status == http.StatusOK, got.status == http.StatusBadRequest && alreadyLoaded.Match(got.body):
		return nil
	}

	kind := fault.Transient
	if got.status >= 400 && got.status < 500 && !loadMayPass(got.status) {
		kind = fault.Invalid
	}

	return fault.New(kind, "load policy %s: the server answered %d %s: %s", name, got.status,
		http.StatusText(got.status), c.words(string(got.body)))
}

// loadMayPass reports whether a refusal with a status from 400 to 499 may be temporary.
func loadMayPass(status int) bool {
	switch status {
	case http.StatusNotFound, http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return true
	}

	return false
}
