package openenv

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/coder/websocket"

	"github.com/collabui/collabui/envadapters"
)

// Limits of a session at the server.
const (
	maxRequest  = 1 << 20          // the size of a frame, in bytes
	openLimit   = 5 * time.Second  // the wait for a place
	idleLimit   = 10 * time.Minute // the time between two frames
	answerLimit = 30 * time.Second // the time to write an answer, or to answer a ping
	pingEvery   = 20 * time.Second // the time between an answered ping and the next one
)

// Handler serves a suite to others. /ws is a session; /health, /metadata, /schema and /openapi.json describe the suite,
// and /mcp lists no tools. OpenEnv's stateless /reset and /step are missing, because they cannot play an episode. Pages
// in a web browser may not connect. A session ends, and frees its place, within a minute after its client stopped
// answering pings.
func Handler(suite envadapters.Suite) (http.Handler, error) {
	return handler(suite, pingEvery, answerLimit)
}

func handler(suite envadapters.Suite, every, limit time.Duration) (http.Handler, error) {
	description, err := Describe(suite)
	if err != nil {
		return nil, err
	}

	mux := http.NewServeMux()
	send := func(path string, value any) {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, value) })
	}

	send("/health", map[string]string{"status": "healthy"})
	send("/metadata", map[string]string{
		"name":        description.Suite,
		"description": description.Title,
		"version":     description.Version,
		"profile":     Profile,
	})

	send("/schema", json.RawMessage(schema))
	send("/openapi.json", json.RawMessage(openAPI))
	mux.HandleFunc("POST /mcp", serveMCP)
	mux.HandleFunc("GET /ws", func(w http.ResponseWriter, r *http.Request) {
		ws, err := websocket.Accept(w, r, nil)
		if err != nil {
			return // Accept has answered
		}
		ws.SetReadLimit(maxRequest)
		x := &session{suite: suite, desc: description, ws: ws, pingEvery: every, pingLimit: limit}
		defer x.end()
		x.serve(r.Context())
	})

	return mux, nil
}
