// Package httpd contains the common parts of this system's HTTP servers: the addresses on which they may listen, how
// they end, the keys of their clients, the form of errors and model lists, the requests that load adapters, and their
// metrics.
package httpd

import (
	"encoding/json"
	"io"
	"net/http"
)

// KernelHeader is the header in which the server of the small policy names its arithmetic. Answers have the same bits
// only if the arithmetic is the same on all servers.
const KernelHeader = "Collabui-Kernel"

// WriteJSON answers with a status and a JSON body.
func WriteJSON(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(value) // if it fails, the client is gone
}

// Healthy answers a request for /health of a healthy server.
func Healthy(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok\n") }

// Model returns an entry of the list of models; a server may add other members.
func Model(id string) map[string]any {
	return map[string]any{"id": id, "object": "model", "created": 0, "owned_by": "collabui"}
}

// WriteModels answers with the list of models. window, if above 0, is the maximum number of tokens of a prompt and its
// answer together, for every model.
func WriteModels(w http.ResponseWriter, window int, models ...map[string]any) {
	if models == nil {
		models = []map[string]any{} // [], not null
	}

	list := map[string]any{"object": "list", "data": models}
	if window > 0 {
		list["max_model_len"] = window
	}
	WriteJSON(w, http.StatusOK, list)
}
