// Package miniwob plays the official MiniWoB++ pages, from a folder that the user names, in real Chromium. It contains
// no pages itself. Every episode begins with a fresh load into a new frame, because resets in place leak state. The
// clock is stopped between steps.
//
// It links no Temporal.
package miniwob

import (
	"context"
	_ "embed"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/envadapters/browser"
	"github.com/collabui/collabui/fault"
)

// The scripts that run in every page, and the script of the page around them.
var (
	//go:embed clock.js
	clockJS string
	//go:embed observe.js
	observeJS string
	//go:embed frame.js
	frameJS string
)

// Semantics of episodes.
const (
	// Standard is the desktop page. Text is typed as it is.
	Standard = "standard"

	// Mobile plays as AndroidWorld does: a phone's view, Enter after typed text, 30 steps, and the home key leaves the
	// app.
	Mobile = "mobile"
)

// rules are the differences between the semantics.
type rules struct {
	name, title string
	view        browser.View
	maxSteps    int
}

// The page itself has 160x210 CSS pixels.
var (
	// standard shows it in the official window.
	standard = rules{
		name:     Standard,
		title:    "MiniWoB++ (Chromium)",
		view:     browser.View{Width: 500, Height: 320},
		maxSteps: 10,
	}

	// mobile shows it on a phone of 1080x2400 pixels at scale 5, as AndroidWorld does.
	mobile = rules{
		name:     Mobile,
		title:    "MiniWoB++ (Chromium, mobile semantics)",
		view:     browser.View{Width: 216, Height: 480},
		maxSteps: 30,
	}
)

// Suite plays MiniWoB++ in some browsers with some tabs each.
type Suite struct {
	rules   rules
	root    *os.Root
	names   []string // the names of the tasks, sorted
	version func() (string, error)
	url     string
	server  *http.Server
	pool    *browser.Pool
}

// semantics contains the rules by their names in specifications.
var semantics = map[string]rules{"": standard, Standard: standard, Mobile: mobile}

// Check returns a fault of kind Invalid if the options name unknown semantics.
func Check(options envadapters.Options) error {
	if _, ok := semantics[options.Semantics]; !ok {
		return fault.New(fault.Invalid, "miniwob has no semantics %q; it has %s and %s",
			options.Semantics, Standard, Mobile)
	}

	return nil
}

// New finds the pages in options.Data and serves them on loopback. It starts no browser before the first Reset. A
// folder without pages and unknown semantics are faults of kind Invalid that advise what to do.
func New(options envadapters.Options, browsers, tabs int) (*Suite, error) {
	if err := Check(options); err != nil {
		return nil, err
	}
	root, err := openPages(options.Data)
	if err != nil {
		return nil, err
	}

	names, err := tasks(root.FS())
	if err != nil {
		return nil, err
	}

	server, base, err := browser.Serve(serve(root.FS()))
	if err != nil {
		_ = root.Close()
		return nil, err
	}

	return &Suite{
		rules:   semantics[options.Semantics],
		root:    root,
		names:   names,
		version: sync.OnceValues(func() (string, error) { return digest(root.FS()) }),
		url:     base,
		server:  server,
		pool:    browser.NewPool(base, browsers, tabs),
	}, nil
}

// Name returns the suite's name in specifications.
func (s *Suite) Name() string { return "miniwob" }

// Title names the semantics.
func (s *Suite) Title() string { return s.rules.title }

// Family returns the mobile action family, in both semantics.
func (s *Suite) Family() domain.Family { return domain.FamilyMobile }

// Version returns a digest of the pages, scripts and styles of the folder.
func (s *Suite) Version(context.Context) (string, error) { return s.version() }

// Browser returns the Chromium that draws the pages.
func (s *Suite) Browser(ctx context.Context) (string, error) { return browser.Version(ctx) }

// Splits returns the standard splits, a split with every task, and AndroidWorld's two lists.
func (s *Suite) Splits() []string {
	return append(slices.Clone(domain.Splits), SplitAll, SplitMobile62, SplitMobile92)
}

// in reports whether a task belongs to a split.
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

// Templates lists the tasks of a split, sorted by name.
func (s *Suite) Templates(split string) ([]envadapters.Template, error) {
	if !slices.Contains(s.Splits(), split) {
		return nil, fault.New(fault.Invalid, "miniwob has no split %q; it has %s",
			split, strings.Join(s.Splits(), ", "))
	}

	var out []envadapters.Template
	for _, name := range s.names {
		if in(split, name) {
			group, _, _ := strings.Cut(name, "-")
			out = append(out, envadapters.Template{Name: name, Group: group, MaxSteps: s.rules.maxSteps})
		}
	}

	return out, nil
}

// missing lists the tasks of AndroidWorld's registry that the folder lacks.
func (s *Suite) missing() []string {
	has := func(name string) bool { return slices.Contains(s.names, name) }
	return slices.DeleteFunc(slices.Clone(mobile92), has)
}

// Open waits for a free tab and returns an environment that plays in it.
func (s *Suite) Open(ctx context.Context) (envadapters.Environment, error) {
	episode, err := s.pool.Episode(ctx, "collabui")
	if err != nil {
		return nil, err
	}

	return &environment{Episode: episode, suite: s}, nil
}

// tab opens a tab with the page around the pages.
func (s *Suite) tab(ctx context.Context, b *browser.Browser) (*browser.Tab, error) {
	t, err := b.Blank(ctx, s.rules.view)
	if err != nil {
		return nil, err
	}

	if err := t.Navigate(ctx, s.url+aroundPath); err != nil {
		t.Close()
		return nil, err
	}

	return t, nil
}

// Check opens a tab and resets one task.
func (s *Suite) Check(ctx context.Context) envadapters.Health {
	task := domain.Task{Template: s.names[0], Split: SplitAll, Seed: 1, MaxSteps: s.rules.maxSteps}
	health := browser.Check(ctx, s, task, "check the folder of the pages; to download it again: "+fix)

	health.Detail += fmt.Sprintf("; %d tasks", len(s.names))
	if m := s.missing(); len(m) > 0 {
		health.Detail += fmt.Sprintf("; of AndroidWorld's %d the folder lacks %s", len(mobile92), strings.Join(m, ", "))
	}

	return health
}

// Close ends the browsers and the page server.
func (s *Suite) Close() error {
	s.pool.Close()
	_ = s.root.Close()

	return s.server.Close()
}
