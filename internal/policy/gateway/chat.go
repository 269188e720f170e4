package gateway

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
)

// defaults are what a request that does not say it means. Engines otherwise take the model's generation_config.json, which cuts and bends samples.
var defaults = map[string]string{"temperature": "1", "top_p": "1", "min_p": "0", "top_k": "-1", "repetition_penalty": "1"}

// chat passes a request on to the engine under the engine's name of the policy. A policy that the engine lost is loaded again, once.
func (g *Gateway) chat(w http.ResponseWriter, r *http.Request) error {
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	var fields map[string]json.RawMessage
	var digest string
	var stream bool
	if err := json.Unmarshal(raw, &fields); err != nil || fields == nil {
		return refuse(http.StatusBadRequest, "the request's JSON: expected an object (%v)", err)
	}
	for name, to := range map[string]any{"model": &digest, "stream": &stream} {
		if v := fields[name]; v != nil {
			if err := json.Unmarshal(v, to); err != nil {
				return refuse(http.StatusBadRequest, "%s: %w", name, err)
			}
		}
	}
	if stream {
		return refuse(http.StatusBadRequest, "stream: streaming is not offered")
	}
	for k, v := range defaults {
		if given := fields[k]; len(given) == 0 || string(given) == "null" {
			fields[k] = json.RawMessage(v)
		}
	}
	if err := g.enter(); err != nil {
		return err
	}
	defer g.leave()
	for again := true; ; again = false {
		gone, err := g.pass(w, r, digest, fields, again)
		if !gone || err != nil {
			return err
		}
	}
}

// pass sends a request to the engine once. gone says that the engine does not have the policy: nothing was answered then, and it has been loaded again.
func (g *Gateway) pass(w http.ResponseWriter, r *http.Request, digest string, fields map[string]json.RawMessage, again bool) (gone bool, err error) {
	h, err := g.acquire(r.Context(), digest)
	if err != nil {
		return false, err
	}
	defer g.release(h)
	if fields["model"], err = json.Marshal(h.model); err != nil {
		return false, err
	}
	var body bytes.Buffer
	enc := json.NewEncoder(&body)
	enc.SetEscapeHTML(false) // values stay as they came
	if err := enc.Encode(fields); err != nil {
		return false, err
	}
	res, err := g.request(r.Context(), http.MethodPost, "/v1/chat/completions", body.Bytes())
	if err != nil {
		return false, err
	}
	defer func() { _ = res.Body.Close() }()
	from := io.LimitReader(res.Body, maxBody)
	if res.StatusCode == http.StatusNotFound || res.StatusCode == http.StatusBadRequest {
		text, err := io.ReadAll(io.LimitReader(res.Body, maxControl))
		if err != nil {
			return false, refuse(http.StatusServiceUnavailable, "the engine's answer broke off: %w", err)
		}
		if again && g.dialect.missing(res.StatusCode, string(text)) {
			return true, wait(r.Context(), g.lost(r.Context(), h))
		}
		from = bytes.NewReader(text)
	}
	status := res.StatusCode
	if status == http.StatusUnauthorized || status == http.StatusForbidden { // not the client's key
		return false, refuse(http.StatusConflict, "the engine refuses this gateway's key (it answered %d)", status)
	}
	for _, k := range []string{"Content-Type", "Retry-After"} {
		if v := res.Header.Get(k); v != "" {
			w.Header().Set(k, v)
		}
	}
	w.WriteHeader(status)
	if _, err := io.Copy(w, from); err != nil {
		panic(http.ErrAbortHandler) // the client must not take half an answer for a whole one
	}
	return false, nil
}
