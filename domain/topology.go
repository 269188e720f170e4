package domain

import (
	"fmt"
	"slices"
)

// Topology is a directed acyclic graph over n agents: an edge (a, b) means that b reads a's messages.
type Topology struct {
	Agents int      `json:"agents"`
	Edges  [][2]int `json:"edges"` // sorted
}

// Order is the speaking order: topological, lower agent index first among those that are free.
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

// Preds lists the direct predecessors of an agent, ascending.
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

// LongestPath is the number of agents on the longest path.
func (t Topology) LongestPath() int {
	order, err := t.Order()
	if err != nil {
		return 0
	}
	depth, longest := make([]int, t.Agents), 0
	for _, a := range order {
		depth[a] = 1
		for _, p := range t.Preds(a) {
			depth[a] = max(depth[a], depth[p]+1)
		}
		longest = max(longest, depth[a])
	}
	return longest
}

// connected tells whether the graph is weakly connected.
func (t Topology) connected() bool {
	group := make([]int, t.Agents)
	for i := range group {
		group[i] = i
	}
	for range t.Agents {
		for _, e := range t.Edges {
			m := min(group[e[0]], group[e[1]])
			group[e[0]], group[e[1]] = m, m
		}
	}
	return !slices.ContainsFunc(group, func(g int) bool { return g != 0 })
}

// edgeShare is the probability of every forward pair (METHOD.md section 4, edge update).
const edgeShare = 0.5

// RandomTopology draws the graph of an epoch: a random order of agents, each forward pair kept with probability 0.5, again until the graph is weakly
// connected and differs from prev. n = 1 has no edges.
func RandomTopology(seed uint64, epoch, n int, prev *Topology) Topology {
	t := Topology{Agents: n, Edges: [][2]int{}}
	if n < 2 {
		return t
	}
	r := Rand(seed, "topology", epoch)
	for range 1000 {
		order := r.Perm(n)
		t.Edges = [][2]int{}
		for i := range order {
			for _, b := range order[i+1:] {
				if r.Float64() < edgeShare {
					t.Edges = append(t.Edges, [2]int{order[i], b})
				}
			}
		}
		slices.SortFunc(t.Edges, func(a, b [2]int) int { return (a[0]-b[0])*n + a[1] - b[1] })
		if t.connected() && (prev == nil || !slices.Equal(t.Edges, prev.Edges)) {
			break
		}
	}
	return t
}

// EvaluationTopologies is the fixed list on which every system is evaluated, so that results do not depend on a run's own graphs.
func EvaluationTopologies(n int) []Topology {
	var out []Topology
	var prev *Topology
	for k := range 4 {
		t := RandomTopology(0x636f6c6c6162, k, n, prev) // "collab": a constant, never a run's seed
		out, prev = append(out, t), &t
	}
	return out
}
