package chaos

import (
	"bytes"
	"io"
	"net/http"
)

// discard is a response writer that discards the response.
type discard struct{ header http.Header }

func (d *discard) Header() http.Header            { return d.header }
func (d *discard) Write(data []byte) (int, error) { return len(data), nil }
func (d *discard) WriteHeader(int)                {}

// halfBody passes on half of the first piece of an answer.
type halfBody struct {
	http.ResponseWriter
	done bool
}

func (h *halfBody) Write(data []byte) (int, error) {
	if h.done {
		return len(data), nil
	}
	h.done = true
	_, err := h.ResponseWriter.Write(data[:len(data)/2])
	if flusher, ok := h.ResponseWriter.(http.Flusher); ok {
		flusher.Flush()
	}

	return len(data), err
}

func bodyOf(data []byte) io.ReadCloser { return io.NopCloser(bytes.NewReader(data)) }
