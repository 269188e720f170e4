package infer

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/policy/tinylm"
	"github.com/collabui/collabui/internal/store"
)

// KindTiny is the kind of the small policy, which is one file. The other kinds are those of domain.Artifact.
const KindTiny domain.ArtifactKind = "tiny"

// tinyFile is the file of a small policy.
const tinyFile = "policy.safetensors"

// Agent is an agent of an exported system.
type Agent struct {
	Agent       int                 `json:"agent"`
	Policy      string              `json:"policy"`        // digest
	Tensor      string              `json:"tensor_digest"` // digest of the parameters alone
	Kind        domain.ArtifactKind `json:"kind"`          // tiny, lora, full or base
	Base        *domain.BaseModel   `json:"base,omitempty"`
	Rank        int                 `json:"rank,omitempty"` // rank of a LoRA adapter
	Folder      string              `json:"folder"`         // relative to the system's folder
	Temperature float64             `json:"temperature"`    // temperature in evaluations and in infer

	// Trained is what a training program reported in that epoch: its command, versions and metrics.
	Trained *domain.TrainReport `json:"trained,omitempty"`
}

// write writes the agent's policy: a small policy as its checkpoint, another as its files, its artifact and, for an
// adapter, the recipe of merging it.
func (a *Agent) write(ctx context.Context, b store.Bucket, s spec.Spec, dir string) error {
	raw, err := store.GetBlob(ctx, b, a.Policy)
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

		return put(dir, a.Folder+"/"+tinyFile, raw)
	}

	a.Kind, a.Base, a.Rank = x.Kind, &x.Base, x.Rank
	if err := store.GetFiles(ctx, b, x.Sums(), filepath.Join(dir, filepath.FromSlash(a.Folder))); err != nil {
		return err
	}
	if err := put(dir, fmt.Sprintf("policies/agent-%d.artifact.json", a.Agent), raw); err != nil {
		return err
	}
	if x.Kind != domain.ArtifactLoRA {
		return nil
	}

	return put(dir, fmt.Sprintf("merge-agent-%d.yaml", a.Agent), []byte(a.recipe(s)))
}

// recipe returns a configuration of LLaMA-Factory that merges the adapter. Path and template are those of the run's
// trainer if it has them. Quoted JSON strings are valid YAML.
func (a *Agent) recipe(s spec.Spec) string {
	var o struct{ Model, Template string }
	if json.Unmarshal(s.Trainer.Options, &o) != nil || o.Model == "" {
		o.Model = a.Base.Name
	}
	if o.Template == "" {
		o.Template = "TEMPLATE"
	}

	model, _ := json.Marshal(o.Model) // strings always marshal
	template, _ := json.Marshal(o.Template)

	return fmt.Sprintf(`# Merges agent %d's adapter into its base model.
# Run in this folder: llamafactory-cli export merge-agent-%d.yaml
model_name_or_path: %s # your path of the base model; its digest: %s
adapter_name_or_path: %s
finetuning_type: lora
template: %s # the base model's chat template, such as qwen: the one that the run was trained with
export_dir: merged/agent-%d
export_size: 5
export_device: cpu
`, a.Agent, a.Agent, model, a.Base.Digest, a.Folder, template, a.Agent)
}
