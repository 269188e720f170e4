package infer

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/policy/tinylm"
	"github.com/collabui/collabui/internal/store"
)

// KindTiny is the kind of the small policy, which consists of one file. domain.Artifact has the other kinds.
const KindTiny domain.ArtifactKind = "tiny"

// tinyFile is the name of a small policy's file.
const tinyFile = "policy.safetensors"

// Agent describes an agent of an exported system.
type Agent struct {
	Agent       int                 `json:"agent"`
	Policy      string              `json:"policy"`        // digest
	Tensor      string              `json:"tensor_digest"` // digest of only the parameters
	Kind        domain.ArtifactKind `json:"kind"`          // tiny, lora, full or base
	Base        *domain.BaseModel   `json:"base,omitempty"`
	Rank        int                 `json:"rank,omitempty"` // rank of a LoRA adapter
	Folder      string              `json:"folder"`         // relative to the system's folder
	Temperature float64             `json:"temperature"`    // in evaluations and in infer

	// Trained is the report of the training program in that epoch: its command, versions and metrics.
	Trained *domain.TrainReport `json:"trained,omitempty"`
}

// write writes the agent's policy into dir: a small policy as its checkpoint, any other as its files and its artifact.
func (a *Agent) write(ctx context.Context, bucket store.Bucket, dir string) error {
	raw, err := store.GetBlob(ctx, bucket, a.Policy)
	if err != nil {
		return err
	}

	x, err := domain.DecodeArtifact(raw)
	if err != nil {
		if _, tiny := tinylm.Decode(raw); tiny != nil {
			return fault.New(fault.Corrupt, "%s is neither a checkpoint of the small policy (%w) nor an artifact (%w)",
				a.Policy, tiny, err)
		}
		a.Kind = KindTiny

		return writeFile(dir, a.Folder+"/"+tinyFile, raw)
	}

	a.Kind = x.Kind
	a.Base = &x.Base
	a.Rank = x.Rank
	if err := store.GetFiles(ctx, bucket, x.Sums(), filepath.Join(dir, filepath.FromSlash(a.Folder))); err != nil {
		return err
	}

	return writeFile(dir, fmt.Sprintf("policies/agent-%d.artifact.json", a.Agent), raw)
}
