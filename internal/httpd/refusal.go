package httpd

import (
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"
)

// comeBack is the Retry-After of Later.
const comeBack = 5 * time.Second

// Refusal is an error with the HTTP status that a server answers with.
type Refusal struct {
	Status int
	After  time.Duration // Retry-After; 0 means that none is sent
	Code   string        // OpenAI's code, such as model_not_found; if empty, null is sent
	Param  string        // the member of the request that is wrong; if empty, null is sent
	Err    error
}

func (r *Refusal) Error() string { return r.Err.Error() }
func (r *Refusal) Unwrap() error { return r.Err }

// Refuse returns a refusal with a status; format may wrap an error with %w.
func Refuse(status int, format string, args ...any) error {
	return &Refusal{Status: status, Err: fmt.Errorf(format, args...)}
}

// Later returns a refusal with status 503 that makes the client come back in a few seconds.
func Later(format string, args ...any) error {
	return &Refusal{Status: http.StatusServiceUnavailable, After: comeBack, Err: fmt.Errorf(format, args...)}
}

// WriteEngine answers with the refusal in the form of vLLM: the code is the status and the type its text.
func (r *Refusal) WriteEngine(w http.ResponseWriter) {
	r.write(w, map[string]any{
		"message": r.Error(),
		"type":    http.StatusText(r.Status),
		"code":    r.Status,
	})
}

// WriteOpenAI answers with the refusal in the form of the OpenAI API.
func (r *Refusal) WriteOpenAI(w http.ResponseWriter) {
	kind := "invalid_request_error"
	if r.Status >= http.StatusInternalServerError {
		kind = "server_error"
	}

	r.write(w, map[string]any{
		"message": r.Error(),
		"type":    kind,
		"param":   orNull(r.Param),
		"code":    orNull(r.Code),
	})
}

func (r *Refusal) write(w http.ResponseWriter, body map[string]any) {
	if r.After > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(r.After.Seconds()))))
	}

	WriteJSON(w, r.Status, map[string]any{"error": body})
}

func orNull(text string) any {
	if text == "" {
		return nil
	}

	return text
}
