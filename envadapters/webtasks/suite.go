// Package webtasks is the built-in environment: pages of our own in real Chromium, in two groups, apps and widgets (pages/*.js). It knows only the
// contract of envadapters and the browser driver.
package webtasks

import (
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/image/font/gofont/goregular"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/envadapters/browser"
	"github.com/collabui/collabui/fault"
)

//go:embed pages
var pages embed.FS

// Suite plays webtasks in Browsers browsers with Tabs episodes at once in each.
type Suite struct {
	url    string
	server *http.Server
	pool   *browser.Pool
}

var templates = sync.OnceValues(list)

type templateInfo struct {
	Name, Group string
	Held        bool
	Max         int
}

// New starts the page server on loopback. No browser is started before the first Open.
func New(browsers, tabs int) (*Suite, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fault.New(fault.Transient, "listen for the webtasks pages: %w", err)
	}
	s := &Suite{url: "http://" + l.Addr().String() + "/pages/index.html", pool: browser.NewPool(browsers, tabs)}
	mux := http.NewServeMux()
	mux.Handle("/pages/", http.FileServerFS(pages))
	mux.HandleFunc("/pages/font.ttf", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(goregular.TTF) })
	s.server = &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	go func() { _ = s.server.Serve(l) }()
	return s, nil
}

// URL is the address of the page that plays all templates; other drivers can be compared on it.
func (s *Suite) URL() string { return s.url }

// Name is the suite's name in specifications.
func (s *Suite) Name() string { return "webtasks" }

// Family is the mobile action family.
func (s *Suite) Family() domain.Family { return domain.FamilyMobile }

// Title says what the pages are.
func (s *Suite) Title() string { return "webtasks (built-in pages)" }

// Splits are the standard ones.
func (s *Suite) Splits() []string { return domain.Splits }

// Templates lists the templates of a split, sorted by name.
func (s *Suite) Templates(split string) ([]envadapters.Template, error) {
	if !slices.Contains(domain.Splits, split) {
		return nil, fault.New(fault.Invalid, "webtasks has no split %q; it has %s", split, strings.Join(domain.Splits, ", "))
	}
	all, err := templates()
	if err != nil {
		return nil, err
	}
	var out []envadapters.Template
	for _, t := range all {
		if t.Held == (split == domain.SplitTestTemplates) {
			out = append(out, envadapters.Template{Name: t.Name, Group: t.Group, MaxSteps: t.Max})
		}
	}
	return out, nil
}

// Open gives an environment with a tab of its own.
func (s *Suite) Open(ctx context.Context) (envadapters.Environment, error) {
	p, err := s.pool.Take(ctx)
	if err != nil {
		return nil, err
	}
	return &environment{suite: s, place: p}, nil
}

// Check opens a tab and resets one task.
func (s *Suite) Check(ctx context.Context) envadapters.Health {
	if _, err := browser.Find(); err != nil {
		return envadapters.Health{State: envadapters.Dead, Detail: err.Error(), Fix: "apt-get install chromium-headless-shell"}
	}
	return envadapters.Probe(ctx, s, domain.Task{Template: "tap-button", Split: domain.SplitTrain, Seed: 1, MaxSteps: 3}, "run the browser by hand with --headless to see why it fails")
}

// Close ends browsers and page server.
func (s *Suite) Close() error {
	s.pool.Close()
	return s.server.Close()
}

// list reads the template table, which TestTemplateTableIsThePages keeps equal to what the pages define.
func list() ([]templateInfo, error) {
	raw, err := pages.ReadFile("pages/templates.json")
	if err != nil {
		return nil, err
	}
	var out []templateInfo
	if err := json.Unmarshal(raw, &out); err != nil {
		return nil, fmt.Errorf("read the template table: %w", err)
	}
	slices.SortFunc(out, func(a, b templateInfo) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}
