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
		for agent := 0; agent < t.Agents && next < 0; agent++ {
			if !done[agent] && !slices.ContainsFunc(t.Preds(agent), func(pred int) bool { return !done[pred] }) {
				next = agent
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
	for _, edge := range t.Edges {
		if edge[1] == agent {
			out = append(out, edge[0])
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
	for _, agent := range order {
		depth[agent] = 1
		for _, pred := range t.Preds(agent) {
			depth[agent] = max(depth[agent], depth[pred]+1)
		}
		longest = max(longest, depth[agent])
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
		for _, edge := range t.Edges {
			merged := min(group[edge[0]], group[edge[1]])
			group[edge[0]] = merged
			group[edge[1]] = merged
		}
	}

	return !slices.ContainsFunc(group, func(label int) bool { return label != 0 })
}

// RandomTopology draws the graph of an epoch for n agents: a random order of them with an edge between any two,
// directed along the order, with probability edgeShare. It draws again until the graph is weakly connected and its
// edges differ from the edges of prev, which may be nil. A single agent has no edges.
func RandomTopology(seed uint64, epoch, n int, prev *Topology) Topology {
	drawn := Topology{Agents: n, Edges: [][2]int{}}
	if n < 2 {
		return drawn
	}

	random := Rand(seed, "topology", epoch)
	for range maxDraws {
		drawn.Edges = drawEdges(random, n)
		if drawn.connected() && (prev == nil || !slices.Equal(drawn.Edges, prev.Edges)) {
			break
		}
	}

	return drawn
}

func drawEdges(random *rand.Rand, n int) [][2]int {
	edges := [][2]int{}
	order := random.Perm(n)
	for i, a := range order {
		for _, b := range order[i+1:] {
			if random.Float64() < edgeShare {
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
		drawn := RandomTopology(evaluationSeed, k, n, prev)
		out = append(out, drawn)
		prev = &drawn
	}

	return out
}
