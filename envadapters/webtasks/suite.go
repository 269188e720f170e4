// Package webtasks is the built-in suite: the pages of the folder pages, played in real Chromium. The templates come in
// groups: apps, widgets, two-places, pictures and words.
//
// It links no Temporal.
package webtasks

import (
	"cmp"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"slices"
	"strings"
	"sync"

	"golang.org/x/image/font/gofont/goregular"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/envadapters/browser"
	"github.com/collabui/collabui/fault"
)

//go:embed pages
var pages embed.FS

// Suite plays webtasks in some browsers with some tabs each.
type Suite struct {
	url     string
	server  *http.Server
	pool    *browser.Pool
	groups  []string
	without []string
	words   string
}

// The groups of templates. Apps and widgets are played if the option groups is empty.
const (
	GroupApps      = "apps"
	GroupWidgets   = "widgets"
	GroupTwoPlaces = "two-places" // a goal needs a fact from one panel and an element of another
	GroupPictures  = "pictures"   // a goal needs what only a picture of the screen shows
	GroupWords     = "words"      // the same screens, with goals for which the text suffices
)

// The values of the option words, for training tasks.
const (
	FromPools = "from-pools" // the default: words from the training pools, about 300
	MadeUp    = "made-up"    // words composed of halves of them for every task, so that a policy cannot remember them
)

var templates = sync.OnceValues(list)

type templateInfo struct {
	Name, Group string
	Generator   string // the function of the pages that generates it; all templates of a generator are in one split
	Split       string // train, test-templates or test-apps
	Max         int    // the step budget
}

// in reports whether the template is played in a split. Val and test-seeds play the templates of train.
func (t templateInfo) in(split string) bool {
	if split == domain.SplitVal || split == domain.SplitTestSeeds {
		split = domain.SplitTrain
	}

	return t.Split == split
}

// splits are the standard splits, and the split of the apps that no other split contains.
var splits = append(slices.Clone(domain.Splits), domain.SplitTestApps)

// Check returns a fault of kind Invalid if the options name an unknown template or unknown words.
func Check(options envadapters.Options) error {
	all, err := templates()
	if err != nil {
		return err
	}
	for _, name := range options.Without {
		if !slices.ContainsFunc(all, func(info templateInfo) bool { return info.Name == name }) {
			return fault.New(fault.Invalid, "webtasks: without: there is no template %q", name)
		}
	}
	for _, group := range options.Groups {
		if !slices.ContainsFunc(all, func(info templateInfo) bool { return info.Group == group }) {
			return fault.New(fault.Invalid, "webtasks: groups: there is no group %q; there are %s, %s, %s, %s and %s",
				group, GroupApps, GroupWidgets, GroupTwoPlaces, GroupPictures, GroupWords)
		}
	}
	if !slices.Contains([]string{"", FromPools, MadeUp}, options.Words) {
		return fault.New(fault.Invalid, "webtasks has no words %q; it has %s and %s", options.Words, FromPools, MadeUp)
	}

	return nil
}

// New starts the page server on loopback. It reads the options Groups, Without and Words, and starts no browser before
// the first Reset. Unknown groups, unknown templates, and words other than FromPools and MadeUp, are faults of kind
// Invalid.
func New(options envadapters.Options, browsers, tabs int) (*Suite, error) {
	if err := Check(options); err != nil {
		return nil, err
	}
	options.Words = cmp.Or(options.Words, FromPools)
	if len(options.Groups) == 0 {
		options.Groups = []string{GroupApps, GroupWidgets}
	}

	mux := http.NewServeMux()
	mux.Handle("/pages/", http.FileServerFS(pages))
	mux.HandleFunc("/pages/font.ttf", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(goregular.TTF)
	})

	server, base, err := browser.Serve(mux)
	if err != nil {
		return nil, err
	}

	return &Suite{
		url: base + "/pages/index.html", server: server, pool: browser.NewPool(base, browsers, tabs),
		groups: options.Groups, without: options.Without, words: options.Words,
	}, nil
}

// URL returns the address of the page that plays all templates. Other drivers can be compared on it.
func (s *Suite) URL() string { return s.url }

// Name returns the suite's name in specifications.
func (s *Suite) Name() string { return "webtasks" }

// Family returns the mobile action family.
func (s *Suite) Family() domain.Family { return domain.FamilyMobile }

// Title describes the pages.
func (s *Suite) Title() string { return "webtasks (built-in pages)" }

// Browser returns the Chromium that draws the pages.
func (s *Suite) Browser(ctx context.Context) (string, error) { return browser.Version(ctx) }

// Version returns a digest of the pages.
func (s *Suite) Version(context.Context) (string, error) { return version() }

var version = sync.OnceValues(func() (string, error) {
	h := sha256.New()
	err := fs.WalkDir(pages, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := pages.ReadFile(path)
		_, _ = fmt.Fprintf(h, "%s %d\n%s", path, len(raw), raw)

		return err
	})

	return hex.EncodeToString(h.Sum(nil))[:12], err
})

// Splits returns the standard splits and test-apps.
func (s *Suite) Splits() []string { return slices.Clone(splits) }

// Templates lists the templates of a split, sorted by name.
func (s *Suite) Templates(split string) ([]envadapters.Template, error) {
	if !slices.Contains(splits, split) {
		return nil, fault.New(fault.Invalid, "webtasks has no split %q; it has %s", split, strings.Join(splits, ", "))
	}

	all, err := templates()
	if err != nil {
		return nil, err
	}

	var out []envadapters.Template
	for _, info := range all {
		if info.in(split) && slices.Contains(s.groups, info.Group) && !slices.Contains(s.without, info.Name) {
			out = append(out, envadapters.Template{Name: info.Name, Group: info.Group, MaxSteps: info.Max})
		}
	}

	return out, nil
}

// Open waits for a free tab and returns an environment that plays in it.
func (s *Suite) Open(ctx context.Context) (envadapters.Environment, error) {
	episode, err := s.pool.Episode(ctx, "kit")
	if err != nil {
		return nil, err
	}

	return &environment{Episode: episode, url: s.url, words: s.words}, nil
}

// Check opens a tab and resets one task.
func (s *Suite) Check(ctx context.Context) envadapters.Health {
	task := domain.Task{Template: "tap-button", Split: domain.SplitTrain, Seed: 1, MaxSteps: 3}

	return browser.Check(ctx, s, task, "run the browser by hand with --headless to see why it fails")
}

// Close ends the browsers and the page server.
func (s *Suite) Close() error {
	s.pool.Close()
	return s.server.Close()
}

// list reads the template table. A test compares it with the templates that the pages define.
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
