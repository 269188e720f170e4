package main

import (
	"strings"
	"testing"

	"github.com/collabui/collabui/workers/catalog"
)

func TestBuiltInExperimentsArePossible(t *testing.T) {
	help := reproduceCmd(&app{}).Long
	for _, name := range builtIn() {
		x, err := reproduceOptions{seeds: 3, episodes: 20}.find(name)
		if err == nil {
			err = x.Validate(catalog.All{})
		}
		if err != nil || x.Seeds != 3 || x.Name != name+"-20" {
			t.Errorf("%s is %s with %d seeds, %v, want 3 seeds and another name", name, x.Name, x.Seeds, err)
		}
		if !strings.Contains(help, "\n  "+name+" ") {
			t.Errorf("the help does not name %s, want every experiment in\n%s", name, help)
		}
		for split, n := range x.Episodes {
			if n != 20 {
				t.Errorf("%s has %d episodes of %s, want 20", name, n, split)
			}
		}
	}
}

func TestSomeArmsOfAnExperimentKeepTheirContrasts(t *testing.T) {
	x, err := reproduceOptions{arms: []string{"old-ftx", "old"}}.find("update")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, a := range x.Arms {
		names = append(names, a.Name)
	}
	if got := strings.Join(names, " "); got != "new old old-ftx" || len(x.Contrasts) != 6 {
		t.Errorf("the arms are %s with %d contrasts, want new, old and old-ftx with theirs", got, len(x.Contrasts))
	}
	set := x.Arm("old-ftx").Set
	if set["train.ftx"] != "1" || set["train.beta"] != "0.1" || set["gates.max_kl"] != "1000" {
		t.Errorf("old-ftx sets %v, want its own value, those of old and those of new", set)
	}
	if _, err := (reproduceOptions{arms: []string{"none"}}).find("update"); err == nil ||
		!strings.Contains(err.Error(), `"none"`) {
		t.Errorf("an unknown arm = %v, want an error that names it", err)
	}
}

func TestTheClaimsOfTheQuickstartAreTestedOnASpecification(t *testing.T) {
	x, err := reproduceOptions{}.find("../../examples/shop.yaml")
	if err != nil || x.Name != "shop" || x.Spec.Environment != "shop" || len(x.Contrasts) < 5 {
		t.Errorf("the experiment is %s on %s with %d contrasts, %v; want the quickstart's on shop",
			x.Name, x.Spec.Environment, len(x.Contrasts), err)
	}
}
