package domain

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

// edgeShare is the probability of an edge between two agents, directed along a random order (docs/method.md).
const edgeShare = 0.5

// maxDraws bounds the graphs that RandomTopology draws.
const maxDraws = 1000

// Topology is a directed acyclic graph over agents 0 to Agents-1. An edge (a, b) means that b reads a's messages.
type Topology struct {
	Agents int `json:"agents"`
	// Edges are sorted.
	Edges [][2]int `json:"edges"`
}

// Order returns the order in which the agents speak: topological, with the lowest agent first among those that may
// speak. It fails if the graph has a cycle.
func (t Topology) Order() ([]int, error) {
	var out []int
	done := make([]bool, t.Agents)
	for len(out) < t.Agents {
		next := -1
		for a := 0; a < t.Agents && next < 0; a++ {
			if !done[a] && !slices.ContainsFunc(t.Preds(a), func(p int) bool { return !done[p] }) {
				next = a
			}
		}
		if next < 0 {
			return nil, fmt.Errorf("topology has a cycle: %v", t.Edges)
		}

		done[next] = true
		out = append(out, next)
	}

	return out, nil
}

// Preds returns the direct predecessors of an agent in ascending order.
func (t Topology) Preds(agent int) []int {
	var out []int
	for _, e := range t.Edges {
		if e[1] == agent {
			out = append(out, e[0])
		}
	}
	slices.Sort(out)

	return out
}

// LongestPath returns the number of agents on the longest path, which is how many model calls of a round wait for each
// other. It is 0 if the graph has a cycle.
func (t Topology) LongestPath() int {
	order, err := t.Order()
	if err != nil {
		return 0
	}

	depth := make([]int, t.Agents)
	longest := 0
	for _, a := range order {
		depth[a] = 1
		for _, p := range t.Preds(a) {
			depth[a] = max(depth[a], depth[p]+1)
		}
		longest = max(longest, depth[a])
	}

	return longest
}

// connected reports whether the graph is weakly connected.
func (t Topology) connected() bool {
	group := make([]int, t.Agents)
	for i := range group {
		group[i] = i
	}

	for range t.Agents {
		for _, e := range t.Edges {
			m := min(group[e[0]], group[e[1]])
			group[e[0]] = m
			group[e[1]] = m
		}
	}

	return !slices.ContainsFunc(group, func(g int) bool { return g != 0 })
}

// RandomTopology draws the graph of an epoch for n agents: a random order of them with an edge between any two,
// directed along the order, with probability edgeShare. It draws again until the graph is weakly connected and its
// edges differ from the edges of prev, which may be nil. A single agent has no edges.
func RandomTopology(seed uint64, epoch, n int, prev *Topology) Topology {
	t := Topology{Agents: n, Edges: [][2]int{}}
	if n < 2 {
		return t
	}

	r := Rand(seed, "topology", epoch)
	for range maxDraws {
		t.Edges = drawEdges(r, n)
		if t.connected() && (prev == nil || !slices.Equal(t.Edges, prev.Edges)) {
			break
		}
	}

	return t
}

func drawEdges(r *rand.Rand, n int) [][2]int {
	edges := [][2]int{}
	order := r.Perm(n)
	for i, a := range order {
		for _, b := range order[i+1:] {
			if r.Float64() < edgeShare {
				edges = append(edges, [2]int{a, b})
			}
		}
	}
	slices.SortFunc(edges, func(x, y [2]int) int { return (x[0]-y[0])*n + x[1] - y[1] })

	return edges
}

// evaluationSeed is the root seed of the evaluation topologies: "collab" in ASCII.
const evaluationSeed = 0x636f6c6c6162

// EvaluationTopologies returns the fixed list on which every system of n agents is evaluated. It does not depend on a
// run, so results do not depend on a run's own graphs.
func EvaluationTopologies(n int) []Topology {
	var out []Topology
	var prev *Topology
	for k := range 4 {
		t := RandomTopology(evaluationSeed, k, n, prev)
		out = append(out, t)
		prev = &t
	}

	return out
}
