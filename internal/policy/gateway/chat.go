package gateway

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"

	"github.com/collabui/collabui/internal/httpd"
)

// defaults are the sampling parameters of a request that leaves them out. Engines would otherwise take those of the
// model's generation_config.json, which cut and bend the distribution that answers are drawn from.
var defaults = map[string]string{
	"temperature":        "1",
	"top_p":              "1",
	"min_p":              "0",
	"top_k":              "-1",
	"repetition_penalty": "1",
}

// chat passes a request on to the engine under the engine's name of the policy. A policy that the engine lost is loaded
// again, once.
func (g *Gateway) chat(w http.ResponseWriter, r *http.Request) error {
	digest, fields, err := readChat(r)
	if err != nil {
		return err
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

// greedy is the temperature below which a request means 0. Clients that cannot send a 0 send the smallest number there
// is, which vLLM would raise to 0.01 and sample at.
const greedy = 1e-6

// readChat reads a request, returns the policy that it names and its members, and adds the defaults to them.
func readChat(r *http.Request) (digest string, fields map[string]json.RawMessage, err error) {
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return "", nil, err
	}

	if err := json.Unmarshal(raw, &fields); err != nil || fields == nil {
		return "", nil, httpd.Refuse(http.StatusBadRequest, "the request's JSON: expected an object (%v)", err)
	}

	var stream bool
	var temperature float64
	for name, to := range map[string]any{"model": &digest, "stream": &stream, "temperature": &temperature} {
		if rawMessage := fields[name]; rawMessage != nil {
			if err := json.Unmarshal(rawMessage, to); err != nil {
				return "", nil, httpd.Refuse(http.StatusBadRequest, "%s: %w", name, err)
			}
		}
	}

	if stream {
		return "", nil, httpd.Refuse(http.StatusBadRequest, "stream: streaming is not offered")
	}

	if temperature > 0 && temperature < greedy {
		fields["temperature"] = json.RawMessage("0")
	}
	for key, value := range defaults {
		if given := fields[key]; len(given) == 0 || string(given) == "null" {
			fields[key] = json.RawMessage(value)
		}
	}

	return digest, fields, nil
}

// pass sends a request to the engine. It returns gone if the engine lacks the policy and again is set: the client has
// then got no answer, and the policy has been loaded again.
func (g *Gateway) pass(
	w http.ResponseWriter, r *http.Request, digest string, fields map[string]json.RawMessage, again bool,
) (gone bool, err error) {
	h, err := g.acquire(r.Context(), digest)
	if err != nil {
		return false, err
	}
	defer g.release(h)

	if fields["model"], err = json.Marshal(h.model); err != nil {
		return false, err
	}

	body, err := encode(fields)
	if err != nil {
		return false, err
	}

	res, err := g.request(r.Context(), http.MethodPost, "/v1/chat/completions", body)
	if err != nil {
		return false, err
	}
	defer func() { _ = res.Body.Close() }()

	from := io.LimitReader(res.Body, maxBody)
	switch res.StatusCode {
	case http.StatusNotFound, http.StatusBadRequest:
		text, err := io.ReadAll(io.LimitReader(res.Body, maxControl))
		if err != nil {
			return false, brokeOff(err)
		}

		if g.dialect.missing(reply{res.StatusCode, string(text)}) {
			lost := wait(r.Context(), g.lost(r.Context(), h))
			if !again && lost == nil { // the request is not at fault
				lost = httpd.Later("the engine has lost policy %s again", digest)
			}

			return again, lost
		}
		from = bytes.NewReader(text)
	case http.StatusUnauthorized, http.StatusForbidden: // the engine refused the gateway's key, not the client's
		return false, httpd.Refuse(http.StatusConflict,
			"the engine refuses this gateway's key (it answered %d)", res.StatusCode)
	}
	forward(w, res, from)

	return false, nil
}

// encode writes the request with all values as they came.
func encode(fields map[string]json.RawMessage) ([]byte, error) {
	var body bytes.Buffer
	enc := json.NewEncoder(&body)
	enc.SetEscapeHTML(false)
	err := enc.Encode(fields)

	return body.Bytes(), err
}

// forward answers with the engine's answer. It aborts the connection if the answer breaks off, so the client does not
// take half of it for the whole.
func forward(w http.ResponseWriter, res *http.Response, body io.Reader) {
	for _, key := range []string{"Content-Type", "Retry-After"} {
		if value := res.Header.Get(key); value != "" {
			w.Header().Set(key, value)
		}
	}

	w.WriteHeader(res.StatusCode)
	if _, err := io.Copy(w, body); err != nil {
		panic(http.ErrAbortHandler)
	}
}
