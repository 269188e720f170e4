package view_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/store/runs"
	"github.com/collabui/collabui/internal/view"
)

// acting serves a store whose runs can be acted on. It calls act for what its pages ask for.
func acting(t *testing.T, b store.Bucket, act func(who string, a view.Act) (string, error)) string {
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
		Act:     func(_ context.Context, who string, a view.Act) (string, error) { return act(who, a) },
	}
	ctx, cancel := context.WithCancel(context.Background())
	srv := httptest.NewServer(s.Handler(ctx))
	t.Cleanup(func() { cancel(); srv.CloseClientConnections(); srv.Close() })

	return srv.URL + "/"
}

func TestPeopleActOnPages(t *testing.T) {
	var b store.Memory
	run := crafted(t, &b)
	var got []view.Act
	url := acting(t, &b, func(_ string, a view.Act) (string, error) {
		got = append(got, a)
		if a.Verb == view.ActNote {
			return "noted", run.Note(t.Context(), &b, runs.Change{Who: "me", Why: a.Why, Link: a.Link})
		}
		if a.Verb == view.ActOverride {
			return "", errors.New("no such fork" + hostile[0])
		}

		return "done", nil
	})
	x := newTab(t)
	x.open(url, "document.querySelector('h1')")
	submit := func(title string, values map[string]string) {
		t.Helper()
		form := fmt.Sprintf(`[...document.querySelectorAll('.act')].find((e) => e.textContent.startsWith(%q))`, title)
		x.wait(form)
		x.eval(form + ".querySelector('summary').click()")
		for key, value := range values {
			x.eval(fmt.Sprintf("%s.querySelector('[name=%s]').value = %q", form, key, value))
		}
		x.eval(form + ".querySelector('button').click()")
	}

	page := "#/episode/crafted/1/1/1/0.1"
	x.page(page, "Agent 0, round 2")
	submit("Leave a note", map[string]string{"why": "look" + hostile[0]})
	x.wait("document.body.innerText.includes('noted')")
	submit("Quarantine", map[string]string{"why": "broken"})
	x.wait("document.body.innerText.includes('done')")
	submit("Label it differently", map[string]string{"label": "-1", "name": "mended", "why": "it is not known"})
	x.wait("document.body.innerText.includes('no such fork')")

	want := []view.Act{
		{Verb: view.ActNote, Run: "crafted", Why: "look" + hostile[0], Link: page},
		{Verb: view.ActQuarantine, Run: "crafted", Why: "broken", Template: "tap" + hostile[0]},
		{
			Verb: view.ActOverride, Run: "crafted", Why: "it is not known", Epoch: 1, Slot: 1, Step: 1, Agent: 0,
			Round: 1, Label: -1, Name: "mended",
		},
	}
	for i := range want {
		if i >= len(got) || got[i] != want[i] {
			t.Fatalf("pages asked for\n%+v, want\n%+v", got, want)
		}
	}

	x.open(url+"?again", "document.querySelector('h1')")
	x.page(page, "me, ") // the note is there, and leads to where it was left
	if link := x.eval("document.querySelector('.comment a').getAttribute('href')"); link != page {
		t.Errorf("the note leads to %v, want %s", link, page)
	}
	if n := x.eval("document.querySelectorAll('.acts img, .acts svg').length"); n != 0.0 {
		t.Errorf("%v elements came from texts, want none", n)
	}
	x.page("#/run/crafted", "Changes by people")
	x.quietBut("422", "500")
}

func TestOnlyOwnPagesAct(t *testing.T) {
	var b store.Memory
	crafted(t, &b)
	done := 0
	url := acting(t, &b, func(string, view.Act) (string, error) { done++; return "done", nil })
	const note = `{"verb":"note","run":"crafted","why":"x"}`
	basic := func(user string) map[string]string {
		return map[string]string{"Authorization": "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"))}
	}
	for _, c := range []struct {
		name, method, body string
		headers            map[string]string
		want               int
	}{
		{"a page of this server", http.MethodPost, note, map[string]string{"Sec-Fetch-Site": "same-origin"}, 200},
		{"a page of another site", http.MethodPost, note, map[string]string{"Sec-Fetch-Site": "cross-site"}, 403},
		{"an older browser", http.MethodPost, note, map[string]string{"Origin": "https://example.org"}, 403},
		{"a form", http.MethodPost, note, map[string]string{"Content-Type": "text/plain"}, 415},
		{"a link", http.MethodGet, "", nil, 404},
		{"an unknown field", http.MethodPost, `{"verb":"note","evil":1}`, nil, 400},
		{"a name that commands a terminal", http.MethodPost, note, basic("a\x1b[2J"), 400},
		{"a long name", http.MethodPost, note, basic(strings.Repeat("a", 101)), 400},
		{"too much", http.MethodPost, `{"why":"` + strings.Repeat("x", 1<<15) + `"}`, nil, 400},
	} {
		r, err := http.NewRequestWithContext(t.Context(), c.method, url+"act", strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		for k, v := range c.headers {
			r.Header.Set(k, v)
		}
		w, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = w.Body.Close()
		if w.StatusCode != c.want {
			t.Errorf("%s: status %d, want %d", c.name, w.StatusCode, c.want)
		}
	}
	if done != 1 {
		t.Errorf("%d requests took effect, want 1", done)
	}
}
