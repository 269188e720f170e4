package view_test

import (
	"context"
	"net/http/httptest"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/view"
)

// eventful serves a store. The returned function notifies its pages that something has happened.
func eventful(t *testing.T, b store.Bucket, run string) (url string, happen func()) {
	t.Helper()
	var events atomic.Int64
	s := view.Server{
		Library: library(b, 1),
		Index:   func(context.Context) (view.Names, error) { return view.Names{Runs: []string{run}}, nil },
		Events: func(_ context.Context, _, after string) (int, string) {
			now := events.Load()
			was, _ := strconv.ParseInt(after, 10, 64)

			return int(now - was), strconv.FormatInt(now, 10)
		},
	}
	ctx, cancel := context.WithCancel(context.Background())
	srv := httptest.NewServer(s.Handler(ctx))
	t.Cleanup(func() { cancel(); srv.CloseClientConnections(); srv.Close() })

	return srv.URL + "/", func() { events.Add(1) }
}

// TestOpenPagesShowWhatHappens adds an episode to a run while the pages that show its episodes are open.
func TestOpenPagesShowWhatHappens(t *testing.T) {
	var b store.Memory
	run := crafted(t, &b)
	url, happen := eventful(t, &b, string(run))
	tabs := map[string]*tab{}
	for _, c := range []struct{ hash, text string }{
		{"#/run/crafted", "Rollouts by template"}, {"#/run/crafted/episodes", "4 of 4 episodes"},
		{"#/episode/crafted/1/4", "4 of 4"},
	} {
		x := newTab(t)
		x.open(url, "document.querySelector('h1')")
		x.page(c.hash, c.text)
		x.eval("window.sameDocument = true")
		tabs[c.hash] = x
	}
	overview := tabs["#/run/crafted"]
	agreement := "document.querySelector('[aria-label^=\"Cells on which critic and judge agree\"]').ariaLabel"
	overview.wait(agreement + ".includes('1 75.0 %')")

	slots, _, err := run.Slots(1).Must(t.Context(), &b)
	if err != nil {
		t.Fatal(err)
	}
	play(t, &b, run, slots.Slots[4], 1, hostileStep())
	labels := domain.Credit{Step: 1, Labels: []domain.Label{1, 0, 0, 1}}
	record(t, &b, run.Credits(1, 5), runs.Credits{Steps: []domain.Credit{labels}})
	happen()

	overview.wait(agreement + ".includes('1 87.5 %')")
	overview.wait("document.querySelector('.health').innerText.includes('tap') && " +
		"[...document.querySelectorAll('.health tbody td')].some((d) => d.innerText === '4')")
	tabs["#/run/crafted/episodes"].wait("document.body.innerText.includes('5 of 5 episodes')")
	episode := tabs["#/episode/crafted/1/4"]
	episode.wait("document.body.innerText.includes('4 of 5')")
	episode.key("j")
	episode.wait("location.hash === '#/episode/crafted/1/5'")
	episode.wait("document.body.innerText.includes('epoch 1, slot 5')")
	for hash, x := range tabs {
		if x.eval("window.sameDocument") != true {
			t.Errorf("%s was loaded again, want it changed where it is", hash)
		}
		x.quiet()
	}
}
