package view

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strings"
	"unicode"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/store"
)

// What people can do on pages.
const (
	ActNote       = "note"       // leave a note with a link to the page
	ActQuarantine = "quarantine" // draw no slots from a template any more
	ActOverride   = "override"   // make a fork in which a cell has another label
)

// Acts are the verbs of an Act.
var Acts = []string{ActNote, ActQuarantine, ActOverride}

// Act is what a person asks for on a page.
type Act struct {
	Verb string `json:"verb"`
	Run  string `json:"run"`
	Why  string `json:"why"`

	Link     string `json:"link"`     // of a note
	Template string `json:"template"` // to quarantine

	// A cell, as `collabui fork --label` names it, its new label, and the name of the fork.
	Epoch int          `json:"epoch"`
	Slot  int          `json:"slot"`
	Step  int          `json:"step"`
	Agent int          `json:"agent"`
	Round int          `json:"round"`
	Label domain.Label `json:"label"`
	Name  string       `json:"name"`
}

// actLimit bounds the size of a request, in bytes.
const actLimit = 16 << 10

// maxWho bounds the name of a user, in bytes: it is stored for good.
const maxWho = 100

// act does what a page of this server asks for. Pages of others are refused, also where a proxy forwards them.
func (s *Server) act() http.Handler {
	return http.NewCrossOriginProtection().Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.Act == nil {
			http.Error(w, "this viewer only reads", http.StatusForbidden)

			return
		}
		if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
			http.Error(w, "expected JSON", http.StatusUnsupportedMediaType) // a form of another page cannot send it

			return
		}
		var a Act
		d := json.NewDecoder(http.MaxBytesReader(w, r.Body, actLimit))
		d.DisallowUnknownFields()
		if err := d.Decode(&a); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)

			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), readLimit)
		defer cancel()
		who, _, _ := r.BasicAuth()
		if len(who) > maxWho || strings.ContainsFunc(who, func(c rune) bool { return !unicode.IsPrint(c) }) {
			http.Error(w, fmt.Sprintf("the user's name: expected at most %d bytes that can be printed", maxWho),
				http.StatusBadRequest)

			return
		}
		done, err := s.Act(ctx, who, a)
		if err != nil {
			http.Error(w, err.Error(), statusOf(err))

			return
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = w.Write([]byte(done))
	}))
}

// statusOf returns the status of an answer that is an error.
func statusOf(err error) int {
	switch {
	case errors.Is(err, store.ErrNotFound):
		return http.StatusNotFound
	case fault.KindOf(err) == fault.Invalid:
		return http.StatusUnprocessableEntity
	}

	return http.StatusInternalServerError
}
