package chaos

import (
	"bytes"
	"io"
	"net/http"
)

// discard takes an answer that nobody gets.
type discard struct{ header http.Header }

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) Write(b []byte) (int, error) { return len(b), nil }
func (d *discard) WriteHeader(int)             {}

// halfBody passes on half of the first piece of an answer.
type halfBody struct {
	http.ResponseWriter
	done bool
}

func (h *halfBody) Write(b []byte) (int, error) {
	if h.done {
		return len(b), nil
	}
	h.done = true
	_, err := h.ResponseWriter.Write(b[:len(b)/2])
	if f, ok := h.ResponseWriter.(http.Flusher); ok {
		f.Flush()
	}

	return len(b), err
}

func bodyOf(b []byte) io.ReadCloser { return io.NopCloser(bytes.NewReader(b)) }
