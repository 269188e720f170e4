package openenv

import (
	"encoding/json"
	"net/http"
)

// Codes of errors of JSON-RPC 2.0.
const (
	rpcParse   = -32700
	rpcRequest = -32600
	rpcMethod  = -32601
)

// rpcResponse is a response of JSON-RPC 2.0, which has either a result or an error.
type rpcResponse struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"` // null if the request has no readable ID
	Result  any             `json:"result,omitempty"`
	Error   *rpcError       `json:"error,omitempty"`
}

type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// serveMCP answers requests of the Model Context Protocol, which OpenEnv expects of every environment. Agents act in
// our environments by actions alone, so the list of tools is empty.
func serveMCP(w http.ResponseWriter, r *http.Request) {
	answer := rpcResponse{Version: "2.0"}
	var request struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Method  string          `json:"method"`
	}
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxRequest)).Decode(&request)
	answer.ID = request.ID
	switch {
	case err != nil:
		answer.Error = &rpcError{rpcParse, err.Error()}
	case request.Version != "2.0" || request.Method == "":
		answer.Error = &rpcError{rpcRequest, `expected a request of JSON-RPC 2.0, with "jsonrpc": "2.0" and a method`}
	case request.Method == "tools/list":
		answer.Result = map[string]any{"tools": []any{}}
	default:
		answer.Error = &rpcError{rpcMethod, "unknown method " + request.Method + "; known is tools/list"}
	}
	writeJSON(w, answer)
}

func writeJSON(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(value)
}
