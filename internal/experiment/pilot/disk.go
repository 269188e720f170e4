package pilot

import (
	"strings"

	"github.com/collabui/collabui/internal/experiment/estimate"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/store/runs"
)

// disk sums the pilot's objects by what they belong to.
func (m *measuring) disk() error {
	played, low, high := 0.0, 0.0, 0.0
	for _, e := range m.evaluated {
		played, low, high = played+e.episodes, low+e.low, high+e.total
	}
	objects, err := m.bucket.List(m.ctx, m.run.Prefix())
	if err != nil {
		return err
	}
	sum, policies := map[runs.Kind]float64{}, map[string]float64{}
	for _, o := range objects {
		sum[m.run.KindOf(o.Key)] += float64(o.Size)
		if err := m.policy(o.Key, policies); err != nil {
			return err
		}
	}

	run, pilot := m.demonstrations()
	made, planned := m.recordedCalls()
	m.out.Disks = append(m.out.Disks,
		estimate.Disk{
			Name: "episodes, labels, pairs", Bytes: sum[runs.KindEpisode],
			Units: m.pilotSlots(), Total: m.slots(), Steps: true,
		},
		estimate.Disk{
			Name: "evaluations", Bytes: sum[runs.KindEvaluation],
			Units: played, Low: low, Total: high, Steps: true,
		},
		estimate.Disk{Name: "stage 1", Bytes: sum[runs.KindStage1], Units: pilot, Total: run},
		m.policiesOnDisk(policies),
		estimate.Disk{Name: "recorded calls", Bytes: sum[runs.KindCall], Units: made, Total: planned, Steps: true})

	return nil
}

// recordedCalls returns the calls that the pilot recorded, and those that the run will.
func (m *measuring) recordedCalls() (made, planned float64) {
	for _, r := range m.out.Roles {
		if !strings.HasPrefix(r.Name, policyCalls) && r.Units > 0 {
			made += r.Calls
			planned += r.Calls / r.Units * r.Total
		}
	}

	return made, planned
}

// optimiserStates is what the checkpoints on the way to a policy take, in sizes of the policy: parameters and AdamW's
// two moments, every 50 steps or at the end of a chunk. One of them is usual.
const optimiserStates = 3

// policiesOnDisk returns what policies take, from the sizes of the pilot's by digest.
func (m *measuring) policiesOnDisk(policies map[string]float64) estimate.Disk {
	size := 0.0
	for _, s := range policies {
		size += s
	}
	least, most := leastChunks(m.spec), chunks(m.spec)
	updates := m.spec.Agents * m.spec.Epochs

	return estimate.Disk{
		Name: "policies and optimiser states", Bytes: size * (1 + optimiserStates), Units: float64(len(policies)),
		Low: float64(least + updates), Total: float64(most + updates),
	}
}

// policy notes the size of the policy that an update or a chunk names.
func (m *measuring) policy(key string, policies map[string]float64) error {
	if !strings.HasSuffix(key, "/update.json") && !strings.Contains(key, "finetune/chunks/") {
		return nil
	}
	made, _, err := store.Must[struct{ Policy runs.Policy }](m.ctx, m.bucket, key)
	if err != nil {
		return err
	}
	raw, err := store.GetBlob(m.ctx, m.bucket, made.Policy.Digest)
	policies[made.Policy.Digest] = float64(len(raw))

	return err
}
