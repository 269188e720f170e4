package main

import (
	"strings"

	"github.com/collabui/collabui/internal/experiment/estimate"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/store/runs"
)

// disk sums the pilot's objects by what they belong to.
func (m *measuring) disk() error {
	objects, err := m.b.List(m.ctx, runs.Run(m.p.Name).Prefix())
	if err != nil {
		return err
	}
	sum := map[string]float64{}
	policies := map[string]float64{}
	for _, o := range objects {
		rel := strings.TrimPrefix(o.Key, runs.Run(m.p.Name).Prefix())
		kind := ""
		switch {
		case strings.Contains(rel, "/episodes/"):
			kind = "episodes"
		case strings.HasPrefix(rel, "evals/"):
			kind = "evaluations"
		case strings.HasPrefix(rel, "finetune/"):
			kind = "stage 1"
		case strings.HasPrefix(rel, "calls/"):
			kind = "recorded calls"
		}
		sum[kind] += float64(o.Size)
		if err := m.blobs(o.Key, policies); err != nil {
			return err
		}
	}
	size := 0.0
	for _, s := range policies {
		size += s / float64(len(policies))
	}
	add := func(name string, bytes, units, total float64, steps bool) {
		m.out.Disks = append(m.out.Disks, estimate.Disk{Name: name, Bytes: bytes, Units: units, Total: total, Steps: steps})
	}
	add("episodes, labels, pairs", sum["episodes"], float64(m.p.Slots*m.p.Epochs), m.total(), true)
	add("evaluations", sum["evaluations"], evaluations(m.p, chunks(m.p)), evaluations(m.s, chunks(m.s)), true)
	add("stage 1", sum["stage 1"], float64(m.p.FineTune.Demonstrations), float64(m.s.FineTune.Demonstrations), false)
	least := chunks(m.s)
	if len(m.s.FineTune.Levels) == 0 {
		least = min(least, 1) // the band may be reached at once
	}
	updates := m.s.Agents * m.s.Epochs
	m.out.Disks = append(m.out.Disks, estimate.Disk{Name: "policies and optimiser states", Bytes: size * (1 + optimiserStates), Units: 1, Low: float64(least + updates), Total: float64(chunks(m.s) + updates)})
	calls, made := 0.0, 0.0
	for _, r := range m.out.Roles {
		if !strings.HasPrefix(r.Name, "policies") && r.Units > 0 {
			made, calls = made+r.Calls, calls+r.Calls/r.Units*r.Total
		}
	}
	add("recorded calls", sum["recorded calls"], made, calls, true)
	return nil
}

// optimiserStates is what the checkpoints on the way to a policy take, in sizes of the policy: parameters and AdamW's two moments, every 50 steps or at a chunk's end. One
// of them is usual.
const optimiserStates = 3

// blobs notes the sizes of the policies that a manifest names.
func (m *measuring) blobs(key string, policies map[string]float64) error {
	if !strings.HasSuffix(key, "/update.json") && !strings.Contains(key, "finetune/chunks/") {
		return nil
	}
	x, _, err := store.Read[struct{ Policy runs.Policy }](m.ctx, m.b, key)
	if err != nil {
		return err
	}
	raw, err := store.GetBlob(m.ctx, m.b, x.Policy.Digest)
	policies[x.Policy.Digest] = float64(len(raw))
	return err
}
