package gateway

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"

	"github.com/collabui/collabui/internal/httpd"
)

// defaults holds the sampling parameters for requests that omit them. Engines would otherwise use the model's
// generation_config.json, which truncates and skews the distribution from which answers are drawn.
var defaults = map[string]string{
	"temperature":        "1",
	"top_p":              "1",
	"min_p":              "0",
	"top_k":              "-1",
	"repetition_penalty": "1",
}

// chat forwards a request to the engine under the engine's name for the policy. If the engine has lost the policy, it
// is loaded again, once.
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
		missing, err := g.pass(w, r, digest, fields, again)
		if !missing || err != nil {
			return err
		}
	}
}

// greedyBelow is the temperature below which a request means 0. Clients that cannot send a 0 send the smallest positive
// number, which vLLM would raise to 0.01 and sample at.
const greedyBelow = 1e-6

// readChat reads a request, and returns the digest of its policy and its members with defaults.
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

	if temperature > 0 && temperature < greedyBelow {
		fields["temperature"] = json.RawMessage("0")
	}
	for key, value := range defaults {
		if given := fields[key]; len(given) == 0 || string(given) == "null" {
			fields[key] = json.RawMessage(value)
		}
	}

	return digest, fields, nil
}

// pass sends a request to the engine. If the engine lacks the policy and again is set, it loads the policy again and
// returns missing without answering the client.
func (g *Gateway) pass(
	w http.ResponseWriter, r *http.Request, digest string, fields map[string]json.RawMessage, again bool,
) (missing bool, err error) {
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
			return false, brokenAnswer(err)
		}

		if g.dialect.missing(reply{res.StatusCode, string(text)}) {
			reloadErr := wait(r.Context(), g.loadAgain(r.Context(), h))
			if !again && reloadErr == nil { // the request is not at fault
				reloadErr = httpd.Later("the engine has lost policy %s again", digest)
			}

			return again, reloadErr
		}
		from = bytes.NewReader(text)
	case http.StatusUnauthorized, http.StatusForbidden: // the engine refused the gateway's key, not the client's
		return false, httpd.Refuse(http.StatusConflict,
			"the engine refuses this gateway's key (it answered %d)", res.StatusCode)
	}
	forward(w, res, from)

	return false, nil
}

// encode writes the request and keeps all values unchanged.
func encode(fields map[string]json.RawMessage) ([]byte, error) {
	var body bytes.Buffer
	enc := json.NewEncoder(&body)
	enc.SetEscapeHTML(false)
	err := enc.Encode(fields)

	return body.Bytes(), err
}

// forward writes the engine's answer as the gateway's answer. If the answer breaks off, it aborts the connection, so
// that the client does not mistake a part for the whole.
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
