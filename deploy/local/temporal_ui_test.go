package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.temporal.io/sdk/client"
)

// TestTheWebUITakesNoOrdersFromForeignPages expects that a page that rebinds its name to the loopback, or sends
// requests across sites, terminates no workflow.
func TestTheWebUITakesNoOrdersFromForeignPages(t *testing.T) {
	t.Parallel()

	addr, ui := freeAddress(t), freeAddress(t)
	launch(t, "temporal", "--dir", t.TempDir(), "--addr", addr, "--ui-addr", ui)
	c := dial(t, addr)
	_, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: "w", TaskQueue: testQueue}, waits)
	if err != nil {
		t.Fatal(err)
	}

	for _, x := range []struct {
		host, origin string
		want         int
	}{
		{"evil.example", "http://evil.example", http.StatusMisdirectedRequest},
		{ui, "http://evil.example", http.StatusForbidden},
		{ui, "http://" + ui, http.StatusOK}, // its own page; the last, because it terminates the workflow
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost,
			"http://"+ui+"/api/v1/namespaces/"+testNamespace+"/workflows/w/terminate", strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		r.Host = x.host
		r.Header.Set("Origin", x.origin)
		r.Header.Set("Content-Type", "application/json")
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode != x.want {
			t.Errorf("the order of %s for the host %s got status %d, want %d", x.origin, x.host, res.StatusCode, x.want)
		}
	}
}

// TestTheWebUIIsOpenedByLinksOnly expects that no page of this machine except the viewer leads a browser to the Web UI,
// and that none puts it into a frame.
func TestTheWebUIIsOpenedByLinksOnly(t *testing.T) {
	t.Parallel()

	const viewer = "http://127.0.0.1:8085"
	h := guard(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}), viewer)
	for _, x := range []struct {
		path, site, mode, in, from string
		want                       int
	}{
		{"/namespaces/a/workflows/b", "none", "navigate", "document", "", 200},
		{"/api/v1/namespaces", "same-origin", "cors", "empty", "", 200},
		{"/render", "same-origin", "navigate", "iframe", "", 200},
		{"/namespaces/a/workflows/b", "cross-site", "navigate", "document", "http://chat.example/", 200},
		{"/api/v1/namespaces", "cross-site", "navigate", "document", "", 403},
		{"/", "cross-site", "navigate", "iframe", "", 403},
		{"/", "cross-site", "no-cors", "image", "", 403},
		{"/", "same-site", "navigate", "document", "", 403},
		{"/", "same-site", "navigate", "document", "http://127.0.0.1:80850/", 403},
		{"/", "same-site", "navigate", "document", viewer + "/", 200},
		{"/", "same-site", "navigate", "iframe", viewer + "/", 403},
		{"/api/v1/namespaces", "same-site", "cors", "empty", viewer + "/", 403},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, x.path, nil)
		r.Host = "127.0.0.1:8233"
		for name, value := range map[string]string{
			"Sec-Fetch-Site": x.site, "Sec-Fetch-Mode": x.mode, "Sec-Fetch-Dest": x.in, "Referer": x.from,
		} {
			r.Header.Set(name, value)
		}
		w := httptest.NewRecorder()
		if h.ServeHTTP(w, r); w.Code != x.want {
			t.Errorf("%+v: status %d, want %d", x, w.Code, x.want)
		}
	}
}

// TestTheWebUIHasColumnsAndFilters expects that the list of workflows begins with the columns and filters of runs,
// which a browser keeps from then on.
func TestTheWebUIHasColumnsAndFilters(t *testing.T) {
	t.Parallel()

	addr, ui := freeAddress(t), freeAddress(t)
	launch(t, "temporal", "--dir", t.TempDir(), "--addr", addr, "--ui-addr", ui)
	for _, path := range []string{"/", "/namespaces/" + testNamespace + "/workflows"} {
		res, err := http.Get("http://" + ui + path)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		page := string(raw)
		script, policy := strings.Index(page, `"label":"CollabStage"`), strings.Index(page, "content-security-policy")
		if script < 0 || policy < script || !strings.Contains(page, `"name":"Rollouts"`) ||
			!strings.Contains(page, `"`+testNamespace+`" in all`) {
			t.Errorf("%s is\n%.3000s\nwant a script with columns and filters of %s before the page's policy",
				path, page, testNamespace)
		}
	}
}
