package view_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/view"
)

// served serves a store and returns the address of its pages.
func served(t *testing.T, b store.Bucket) string {
	t.Helper()
	l := library(b, 1)
	whole := l.Status
	l.Status = func(ctx context.Context, run string) (any, error) {
		changes, err := runs.Run(run).Changes(ctx, b, 0, 0)
		s, _ := whole(ctx, run)
		s.(map[string]any)["changes"] = changes

		return s, err
	}
	names := view.Names{
		Runs: []string{"crafted", "small"}, Experiments: []string{"table"}, Lines: []string{"production"},
	}
	s := view.Server{
		Library: l,
		Index:   func(context.Context) (view.Names, error) { return names, nil },
		Events:  func(context.Context, string, string) (int, string) { return 0, "0" },
	}
	ctx, cancel := context.WithCancel(context.Background())
	srv := httptest.NewServer(s.Handler(ctx))
	t.Cleanup(func() { cancel(); srv.CloseClientConnections(); srv.Close() })

	return srv.URL + "/"
}

func TestNotesAreShownWhereTheyLead(t *testing.T) {
	var b store.Memory
	run := crafted(t, &b)
	page := "#/episode/crafted/1/1/1/0.1"
	for why, link := range map[string]string{
		"look" + hostile[0]: page, "of another episode": "#/episode/crafted/1/11", "of no page": "",
	} {
		if err := run.Note(t.Context(), &b, runs.Change{Who: "me", Why: why, Link: link}); err != nil {
			t.Fatal(err)
		}
	}
	x := newTab(t)
	x.open(served(t, &b), "document.querySelector('h1')")
	x.page(page, "me, ")
	notes := x.eval("[...document.querySelectorAll('.comment')].map((e) => e.textContent).join()").(string)
	if want := "look" + hostile[0]; !strings.HasSuffix(notes, want) || strings.Contains(notes, " of ") {
		t.Errorf("the page shows the notes %q, want %q alone", notes, want)
	}
	if link := x.eval("document.querySelector('.comment a').getAttribute('href')"); link != page {
		t.Errorf("the note leads to %v, want %s", link, page)
	}
	if n := x.eval("document.querySelectorAll('.notes img, .notes svg').length"); n != 0.0 {
		t.Errorf("%v elements came from texts, want none", n)
	}
	x.page("#/run/crafted", "Changes by people")
	x.quiet()
}

func TestTheViewerTakesNoOrders(t *testing.T) {
	var b store.Memory
	crafted(t, &b)
	url := served(t, &b)
	for _, path := range []string{"", "act", "data/run/crafted.js", "events", "image/x"} {
		for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
			r, err := http.NewRequestWithContext(t.Context(), method, url+path, strings.NewReader(`{"run":"crafted"}`))
			if err != nil {
				t.Fatal(err)
			}
			answer, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			_ = answer.Body.Close()
			if answer.StatusCode != http.StatusMethodNotAllowed {
				t.Errorf("%s /%s: status %d, want %d", method, path, answer.StatusCode, http.StatusMethodNotAllowed)
			}
		}
	}
}
