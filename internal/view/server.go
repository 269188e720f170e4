package view

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/collabui/collabui/internal/records/runs"
)

// Server serves the pages of running and finished runs.
type Server struct {
	Library *Library

	// Index lists all runs, experiments, lines and schedules.
	Index func(ctx context.Context) (Names, error)

	// Events returns the number of events of a run after a position, and the new position.
	Events func(ctx context.Context, run, after string) (n int, next string)

	// Temporal is the address of the Temporal UI, if there is one.
	Temporal string

	// Execution returns the newest execution of a workflow, or "" if it is not known. It may be nil.
	Execution func(ctx context.Context, workflow string) string

	names func(ctx context.Context) (Names, error)
	home  func(ctx context.Context) (homePage, error)
	costs func(ctx context.Context) (map[string]runs.Spent, error)
}

// Names are the names of all runs, experiments, lines and schedules.
type Names struct{ Runs, Experiments, Lines, Schedules []string }

// policy is the Content-Security-Policy of all responses: nothing from elsewhere, and no scripts in pages.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; " +
	"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Handler returns the handler of all pages. Streams of events end with ctx.
func (s *Server) Handler(ctx context.Context) http.Handler {
	s.Library.Chunk = 1 // a document about an open episode stays short
	s.names = kept(s.Index)
	s.home = kept(func(ctx context.Context) (homePage, error) {
		names, err := s.names(ctx)
		if err != nil {
			return homePage{}, err
		}

		return s.Library.home(ctx, names)
	})
	s.costs = kept(func(ctx context.Context) (map[string]runs.Spent, error) {
		names, err := s.names(ctx)
		if err != nil {
			return nil, err
		}

		return s.Library.costs(ctx, names.Runs)
	})
	mux := http.NewServeMux()
	mux.Handle("GET /", http.FileServerFS(site()))
	mux.HandleFunc("GET /data/{path...}", s.document)
	mux.HandleFunc("GET /image/{name}", s.serveImage)
	mux.HandleFunc("GET /temporal/{workflow...}", s.temporal)
	mux.HandleFunc("GET /events", func(w http.ResponseWriter, r *http.Request) { s.events(ctx, w, r) })

	return secured(mux)
}

// secured adds the headers of all responses.
func secured(pages http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		head := w.Header()
		head.Set("Content-Security-Policy", policy)
		head.Set("X-Content-Type-Options", "nosniff")
		head.Set("Cross-Origin-Resource-Policy", "same-origin") // other sites could include these scripts
		head.Set("Referrer-Policy", "no-referrer")
		head.Set("Cache-Control", "no-store")
		pages.ServeHTTP(w, r)
	})
}

// scriptType is the type of documents.
const scriptType = "text/javascript; charset=utf-8"

// readLimit bounds the time to make a document.
const readLimit = 2 * time.Minute

func (s *Server) document(w http.ResponseWriter, r *http.Request) {
	path, ok := strings.CutSuffix(r.PathValue("path"), ".js")
	if !ok {
		http.NotFound(w, r)

		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), readLimit)
	defer cancel()
	w.Header().Set("Content-Type", scriptType)
	raw, err := s.script(ctx, path)
	if err != nil {
		raw = failedScript(path, err.Error())
	}
	_, _ = w.Write(raw)
}

func (s *Server) script(ctx context.Context, path string) ([]byte, error) {
	var body any
	var err error
	switch path {
	case docIndex:
		body, err = s.index(ctx)
	case docHome:
		body, err = s.home(ctx)
	case docCosts:
		body, err = s.costs(ctx)
	default:
		body, err = s.Library.Document(ctx, path)
	}
	if err != nil {
		return nil, err
	}

	return plainScript(path, body)
}

func (s *Server) index(ctx context.Context) (index, error) {
	names, err := s.names(ctx)
	content := newIndex(names)
	content.Title = "Runs"
	content.Live = true
	content.Temporal = s.Temporal

	return content, err
}

// temporal leads to a workflow in the Temporal UI: to the page that describes what it does, if its newest execution is
// known.
func (s *Server) temporal(w http.ResponseWriter, r *http.Request) {
	workflow := r.PathValue("workflow")
	if s.Temporal == "" || workflow == "" {
		http.NotFound(w, r)

		return
	}
	to := s.Temporal + "/workflows/" + url.PathEscape(workflow)
	if s.Execution != nil {
		if execution := s.Execution(r.Context(), workflow); execution != "" {
			to += "/" + url.PathEscape(execution) + "/user-metadata"
		}
	}
	w.Header().Set("Referrer-Policy", "origin")
	http.Redirect(w, r, to, http.StatusFound)
}

// The interval between checks for events, and the longest time after which a page is prompted to read again.
const (
	lookEvery = 5 * time.Second
	tellEvery = 15 * time.Second
)

// events notifies a page, by server-sent events, when something has happened in a run.
func (s *Server) events(ctx context.Context, w http.ResponseWriter, r *http.Request) {
	run := r.URL.Query().Get("run")
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // a proxy must not buffer
	controller := http.NewResponseController(w)
	_, at := s.Events(r.Context(), run, "0")
	last := time.Now()
	for {
		_, err := w.Write([]byte(": here\n\n"))
		err = errors.Join(err, controller.Flush())
		if err != nil {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-r.Context().Done():
			return
		case <-time.After(lookEvery):
		}
		n, next := s.Events(r.Context(), run, at)
		at = next
		if n == 0 && time.Since(last) < tellEvery {
			continue
		}
		last = time.Now()
		if _, err := w.Write([]byte("data: again\n\n")); err != nil {
			return
		}
	}
}
