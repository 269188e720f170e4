package webtasks

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/collabui/collabui/domain"
)

// begin lets axe-core check the contrast of the page's texts. It may need the page's clock.
const begin = `window.faults = null;
axe.run(document, { runOnly: ['color-contrast'] }).then((r) => {
	window.faults = r.violations.flatMap((v) => v.nodes.map((n) => n.html + ': ' + n.failureSummary));
});
1`

// TestAxeFindsTextsOfEnoughContrast plays every template with the expert and checks each of its screens.
func TestAxeFindsTextsOfEnoughContrast(t *testing.T) {
	modules := os.Getenv("COLLABUI_AXE_NODE")
	if modules == "" {
		t.Skip("COLLABUI_AXE_NODE names no modules with axe-core; scripts/node.sh axe installs them")
	}
	axe, err := os.ReadFile(filepath.Join(modules, "axe-core", "axe.min.js"))
	if err != nil {
		t.Fatal(err)
	}

	s, e := open(t, GroupApps, GroupWidgets, GroupTwoPlaces, GroupPictures, GroupWords)
	checked := 0
	for _, split := range []string{domain.SplitTrain, domain.SplitTestTemplates, domain.SplitTestApps} {
		templates, err := s.Templates(split)
		if err != nil {
			t.Fatal(err)
		}
		for _, template := range templates {
			task := domain.Task{Template: template.Name, Split: split, Seed: 1, MaxSteps: template.MaxSteps}
			tr, err := e.Reset(t.Context(), task)
			for err == nil && !tr.Terminated && !tr.Truncated {
				if checked++; checked == 1 {
					err = e.Tab().Eval(t.Context(), string(axe)+"; 1", nil)
				}
				if err == nil {
					checkContrast(t, e, task)
					tr, err = e.Step(t.Context(), e.Right()[0])
				}
			}
			if err != nil {
				t.Fatalf("%s: got %v, want an episode", template.Name, err)
			}
		}
	}
	if checked < 100 {
		t.Errorf("%d screens were checked, want at least 100", checked)
	}
}

func checkContrast(t *testing.T, e *environment, task domain.Task) {
	t.Helper()

	if err := e.Tab().Eval(t.Context(), begin, nil); err != nil {
		t.Fatal(err)
	}
	var faults []string
	for tries := 0; faults == nil; tries++ {
		if tries == 1000 {
			t.Fatalf("%s: axe-core found no end, want its findings", task.Template)
		}
		if err := e.Tab().Advance(t.Context(), settle); err != nil {
			t.Fatal(err)
		}
		if err := e.Tab().Eval(t.Context(), "window.faults", &faults); err != nil {
			t.Fatal(err)
		}
	}
	for _, fault := range faults {
		t.Errorf("%s: %s, want enough contrast", task.Template, fault)
	}
}
