package domain

import (
	"slices"
	"testing"
)

func TestSpeakingOrderIsTopologicalWithLowerIndexFirst(t *testing.T) {
	g := Topology{Agents: 4, Edges: [][2]int{{0, 1}, {0, 2}, {2, 1}, {1, 3}, {2, 3}}}

	got, err := g.Order()
	if want := []int{0, 2, 1, 3}; err != nil || !slices.Equal(got, want) {
		t.Errorf("Order() = %v, %v, want %v", got, err, want)
	}
	if got, want := g.LongestPath(), 4; got != want {
		t.Errorf("LongestPath() = %d, want %d", got, want)
	}
}

func TestACycleHasNoOrder(t *testing.T) {
	g := Topology{Agents: 2, Edges: [][2]int{{0, 1}, {1, 0}}}

	if order, err := g.Order(); err == nil {
		t.Errorf("Order() = %v, want an error", order)
	}
	if got := g.LongestPath(); got != 0 {
		t.Errorf("LongestPath() = %d, want 0", got)
	}
}

func TestRandomTopologiesAreConnectedAcyclicAndDiffer(t *testing.T) {
	for _, agents := range []int{2, 4} { // two agents have two graphs only
		var prev *Topology
		for epoch := range 200 {
			g := RandomTopology(7, epoch, agents, prev)
			if _, err := g.Order(); err != nil {
				t.Fatalf("epoch %d: %v has no order: %v, want an acyclic graph", epoch, g, err)
			}
			if !g.connected() {
				t.Fatalf("epoch %d: got %v, want a connected graph", epoch, g)
			}
			if prev != nil && slices.Equal(g.Edges, prev.Edges) {
				t.Fatalf("epoch %d repeats %v, want other edges", epoch, g)
			}
			prev = &g
		}
	}
}

func TestASingleAgentHasNoEdges(t *testing.T) {
	if g := RandomTopology(7, 0, 1, nil); len(g.Edges) != 0 {
		t.Errorf("RandomTopology of 1 agent = %v, want no edges", g)
	}
}
