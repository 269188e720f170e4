package catalog

import (
	"fmt"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/envadapters/acceptance"
	"github.com/collabui/collabui/envadapters/browser"
)

// TestTabsOfOneBrowserPlayEveryEnvironment plays tasks of all environments that use a browser in several tabs at the
// same time.
func TestTabsOfOneBrowserPlayEveryEnvironment(t *testing.T) {
	if _, err := browser.Find(); err != nil {
		t.Skip(err)
	}
	for name, o := range map[string]envadapters.Options{
		"webtasks": {}, "miniwob": {Data: "../../envadapters/miniwob/testdata"},
	} {
		for _, tabs := range []int{2, 4} {
			t.Run(fmt.Sprint(name, " in ", tabs, " tabs"), func(t *testing.T) {
				o.Suite = name
				suite, err := OpenEnvironment(o, Places{Browsers: 1, Tabs: tabs})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = suite.Close() })
				templates, err := suite.Templates(domain.SplitTrain)
				if err != nil {
					t.Fatal(err)
				}

				var players errgroup.Group
				for tab := range tabs {
					players.Go(func() error {
						x := templates[tab*len(templates)/tabs]
						task := domain.Task{
							Suite: name, Template: x.Name, Split: domain.SplitTrain, Seed: 7, MaxSteps: x.MaxSteps,
						}
						r, err := acceptance.Task(t.Context(), suite, task)
						if err == nil && len(r.Problems) > 0 {
							err = fmt.Errorf("%s: %v", x.Name, r.Problems)
						}

						return err
					})
				}
				if err := players.Wait(); err != nil {
					t.Errorf("the tabs played to %v, want no error", err)
				}
			})
		}
	}
}
