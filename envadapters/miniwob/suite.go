// Package miniwob plays the official MiniWoB++ pages, from a folder that the user names, in real Chromium. It knows only the contract of envadapters and the browser
// driver; no page is part of it. Every episode begins with a fresh load, because resets in place leak state, and with a clock that stands still between steps.
package miniwob

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/envadapters/browser"
	"github.com/collabui/collabui/fault"

	_ "embed"
)

// The page side.
var (
	//go:embed clock.js
	clockJS string
	//go:embed observe.js
	observeJS string
)

// Semantics of episodes.
const (
	Standard = "standard" // the desktop page; text is typed as it is
	Mobile   = "mobile"   // as AndroidWorld plays it: a phone's view, Enter behind typed text, 30 steps, the home key leaves the app
)

// rules is what tells the two semantics apart.
type rules struct {
	name, title string
	view        browser.View
	maxSteps    int
}

// The page itself has 160x210 CSS pixels. Standard: the official window of 500x320. Mobile: a phone of 1080x2400 at scale 5, as AndroidWorld shows it.
var (
	standard = rules{name: Standard, title: "MiniWoB++ (Chromium)", view: browser.View{Width: 500, Height: 320, Script: clockJS + observeJS}, maxSteps: 10}
	mobile   = rules{name: Mobile, title: "MiniWoB++ (Chromium, mobile semantics)", view: browser.View{Width: 216, Height: 480, Script: clockJS + observeJS}, maxSteps: 30}
)

// Suite plays MiniWoB++ in some browsers with some tabs each.
type Suite struct {
	rules   rules
	root    *os.Root
	names   []string // of the playable tasks, sorted
	version func() (string, error)
	url     string
	server  *http.Server
	pool    *browser.Pool
}

// New finds the pages in o.Data and serves them on loopback. No browser is started before the first Reset. A folder without pages or unknown semantics are faults of
// kind Invalid that say what to do.
func New(o envadapters.Options, browsers, tabs int) (*Suite, error) {
	r, ok := map[string]rules{"": standard, Standard: standard, Mobile: mobile}[o.Semantics]
	if !ok {
		return nil, fault.New(fault.Invalid, "miniwob has no semantics %q; it has %s and %s", o.Semantics, Standard, Mobile)
	}
	root, err := openPages(o.Data)
	if err != nil {
		return nil, err
	}
	names, err := tasks(root.FS())
	if err != nil {
		return nil, err
	}
	names = slices.DeleteFunc(names, func(n string) bool { return excluded[n] != "" })
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		_ = root.Close()
		return nil, fault.New(fault.Transient, "listen for the MiniWoB++ pages: %w", err)
	}
	s := &Suite{rules: r, root: root, names: names, url: "http://" + l.Addr().String() + "/miniwob/", pool: browser.NewPool(browsers, tabs),
		version: sync.OnceValues(func() (string, error) { return digest(root.FS()) })}
	s.server = &http.Server{Handler: serve(root.FS()), ReadHeaderTimeout: 5 * time.Second}
	go func() { _ = s.server.Serve(l) }()
	return s, nil
}

// Name is the suite's name in specifications.
func (s *Suite) Name() string { return "miniwob" }

// Title says which semantics hold.
func (s *Suite) Title() string { return s.rules.title }

// Family is the mobile action family, in both semantics.
func (s *Suite) Family() domain.Family { return domain.FamilyMobile }

// Version is a digest of the pages, scripts and styles of the folder.
func (s *Suite) Version(context.Context) (string, error) { return s.version() }

// Splits are the standard ones, every task at once, and AndroidWorld's two lists.
func (s *Suite) Splits() []string {
	return append(slices.Clone(domain.Splits), SplitAll, SplitMobile62, SplitMobile92)
}

// in tells whether a task belongs to a split.
func in(split, task string) bool {
	switch split {
	case domain.SplitTestTemplates:
		return envadapters.HeldOut(task)
	case domain.SplitTrain, domain.SplitVal, domain.SplitTestSeeds:
		return !envadapters.HeldOut(task)
	case SplitMobile62:
		return slices.Contains(mobile62, task)
	case SplitMobile92:
		return slices.Contains(mobile92, task)
	}
	return split == SplitAll
}

// Templates lists the playable tasks of a split, sorted by name.
func (s *Suite) Templates(split string) ([]envadapters.Template, error) {
	if !slices.Contains(s.Splits(), split) {
		return nil, fault.New(fault.Invalid, "miniwob has no split %q; it has %s", split, strings.Join(s.Splits(), ", "))
	}
	var out []envadapters.Template
	for _, n := range s.names {
		if in(split, n) {
			group, _, _ := strings.Cut(n, "-")
			out = append(out, envadapters.Template{Name: n, Group: group, MaxSteps: s.rules.maxSteps})
		}
	}
	return out, nil
}

// Missing lists the tasks of AndroidWorld's registry that the folder lacks or that cannot be played.
func (s *Suite) Missing() []string {
	return slices.DeleteFunc(slices.Clone(mobile92), func(n string) bool { return slices.Contains(s.names, n) })
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
	h := envadapters.Probe(ctx, s, domain.Task{Template: s.names[0], Split: SplitAll, Seed: 1, MaxSteps: s.rules.maxSteps}, "check the folder of the pages; to get it anew: "+fix)
	h.Detail += fmt.Sprintf("; %d tasks", len(s.names))
	if m := s.Missing(); len(m) > 0 {
		h.Detail += fmt.Sprintf("; of AndroidWorld's %d the folder lacks %s", len(mobile92), strings.Join(m, ", "))
	}
	return h
}

// Close ends browsers and page server.
func (s *Suite) Close() error {
	s.pool.Close()
	_ = s.root.Close()
	return s.server.Close()
}
