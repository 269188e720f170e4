package domain

import (
	"slices"
	"testing"
)

func TestSpeakingOrderIsTopologicalWithLowerIndexFirst(t *testing.T) {
	g := Topology{Agents: 4, Edges: [][2]int{{0, 1}, {0, 2}, {2, 1}, {1, 3}, {2, 3}}}
	if o, err := g.Order(); err != nil || !slices.Equal(o, []int{0, 2, 1, 3}) {
		t.Fatalf("%v, %v", o, err)
	}
	if g.LongestPath() != 4 {
		t.Fatal(g.LongestPath())
	}
	if _, err := (Topology{Agents: 2, Edges: [][2]int{{0, 1}, {1, 0}}}).Order(); err == nil {
		t.Fatal("a cycle has an order")
	}
}

func TestRandomTopologiesAreConnectedAcyclicAndDiffer(t *testing.T) {
	var prev *Topology
	for k := range 200 {
		g := RandomTopology(7, k, 4, prev)
		if _, err := g.Order(); err != nil || !g.connected() {
			t.Fatalf("epoch %d: %v %v", k, g, err)
		}
		if prev != nil && slices.Equal(g.Edges, prev.Edges) {
			t.Fatalf("epoch %d repeats %v", k, g)
		}
		prev = &g
	}
	if g := RandomTopology(7, 0, 1, nil); len(g.Edges) != 0 {
		t.Fatal(g)
	}
}

func TestActionsAreValidatedAndCompared(t *testing.T) {
	for _, bad := range []string{`{}`, `{"action_type":"fly"}`, `{"action_type":"click"}`, `{"action_type":"click","index":1,"text":"a"}`, `{"action_type":"click","index":"1"}`,
		`{"action_type":"scroll","direction":"north"}`, `{"action_type":"status","goal_status":"done"}`, `{"action_type":"wait","extra":1}`, `[]`} {
		if a, err := ParseAction([]byte(bad)); err == nil {
			t.Errorf("%s parsed as %+v", bad, a)
		}
	}
	five := 5
	o := Observation{Elements: []Element{{Index: 0}, {Index: 2, Target: &five}, {Index: 5}}}
	pairs := []struct {
		a, b string
		same bool
	}{
		{`{"action_type":"input_text","index":2,"text":" Milk "}`, `{"action_type":"input_text","index":5,"text":"milk"}`, true},
		{`{"action_type":"click","index":0}`, `{"action_type":"click","index":5}`, false},
		{`{"action_type":"scroll","direction":"up"}`, `{"action_type":"swipe","direction":"up"}`, false},
	}
	for _, p := range pairs {
		a, err := ParseAction([]byte(p.a))
		if err != nil {
			t.Fatal(err)
		}
		b, err := ParseAction([]byte(p.b))
		if err != nil {
			t.Fatal(err)
		}
		if (a.Canonical(o) == b.Canonical(o)) != p.same {
			t.Errorf("%s and %s: %q and %q", p.a, p.b, a.Canonical(o), b.Canonical(o))
		}
	}
}

func TestSeedsDependOnEveryPartOfThePath(t *testing.T) {
	seen := map[uint64]bool{}
	for e := range 10 {
		for s := range 10 {
			seen[Seed(1, "slot", e, s)] = true
		}
	}
	seen[Seed(2, "slot", 0, 0)], seen[Seed(1, "slot", "0/0")] = true, true
	if len(seen) < 101 {
		t.Fatal(len(seen))
	}
}
