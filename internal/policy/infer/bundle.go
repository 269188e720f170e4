package infer

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/method/prompts"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/policy/tinylm"
	"github.com/collabui/collabui/internal/store"
)

// KindTiny is the small policy, one file; the other kinds are those of domain.Artifact.
const KindTiny domain.ArtifactKind = "tiny"

// Files of an exported folder.
const (
	SystemDir = "system"     // below it: the trained system
	SumsFile  = "SHA256SUMS" // of all other files, as sha256sum writes and checks it
	tinyFile  = "policy.safetensors"
)

// Agent is one agent of an exported system.
type Agent struct {
	Agent       int                 `json:"agent"`
	Policy      string              `json:"policy"`        // digest
	Tensor      string              `json:"tensor_digest"` // of the parameters alone
	Kind        domain.ArtifactKind `json:"kind"`          // tiny, lora, full or base
	Base        *domain.BaseModel   `json:"base,omitempty"`
	Rank        int                 `json:"rank,omitempty"` // of a LoRA adapter
	Folder      string              `json:"folder"`         // below the system's
	Temperature float64             `json:"temperature"`    // of evaluation and infer

	Trained *domain.TrainReport `json:"trained,omitempty"` // by another program, in that epoch: command, versions, metrics
}

// Exported is system.json: how the system decides. Its topologies stand in topology.json.
type Exported struct {
	Run         string           `json:"run"`
	Epoch       int              `json:"epoch"` // that made it; 0: the base policy n times
	Family      domain.Family    `json:"actions"`
	Rounds      int              `json:"rounds"`
	TopP        float64          `json:"top_p"`
	MaxTokens   int              `json:"max_tokens"`
	VoteScope   agents.VoteScope `json:"vote_scope"`
	ViewDropout float64          `json:"view_dropout"`
	Thoughts    bool             `json:"share_thoughts"`
	Prompts     map[string]Of    `json:"prompts"` // by role
	Agents      []Agent          `json:"agents"`
}

// Of is a prompt template's identity.
type Of struct {
	Version string `json:"version"`
	Digest  string `json:"digest"`
}

// Topologies is topology.json.
type Topologies struct {
	Evaluation []domain.Topology `json:"evaluation"`      // in turn by episode, by infer: number seed modulo their count
	Epoch      *domain.Topology  `json:"epoch,omitempty"` // on which the epoch trained
}

// Write writes the system into a folder that must not hold one: specification, how it decides, topologies, prompts and every agent's policy. Files of gigabytes do not pass
// through memory. What it wrote before an error stays.
func (s System) Write(ctx context.Context, b store.Bucket, dir string) (Exported, error) {
	c, err := s.Config(0)
	if err != nil {
		return Exported{}, err
	}
	out := Exported{Run: s.Run, Epoch: s.Epoch, Family: s.Spec.Family(), Rounds: c.Rounds, TopP: c.TopP, MaxTokens: c.MaxTokens, VoteScope: c.VoteScope, ViewDropout: c.ViewDropout, Thoughts: c.Thoughts,
		Prompts: map[string]Of{}}
	for _, role := range roles(s.Spec) {
		text, own := s.Spec.Prompts[role]
		if !own {
			if text, err = prompts.Default(role); err != nil {
				return out, fault.As(fault.Fatal, err)
			}
		}
		p, err := prompts.Parse(text)
		if err != nil {
			return out, fault.New(fault.Invalid, "prompt of role %s: %w", role, err)
		}
		out.Prompts[role] = Of{p.Version, p.Digest}
		if err := put(dir, "prompts/"+role+".tmpl", []byte(text)); err != nil {
			return out, err
		}
	}
	for i, p := range s.Policies {
		a := Agent{Agent: i, Policy: p.Digest, Tensor: p.Tensor, Folder: fmt.Sprintf("policies/agent-%d", i), Temperature: c.Temperature[i]}
		if i < len(s.Reports) {
			a.Trained = s.Reports[i]
		}
		if err := a.write(ctx, b, s.Spec, dir); err != nil {
			return out, fmt.Errorf("policy of agent %d: %w", i, err)
		}
		out.Agents = append(out.Agents, a)
	}
	for name, v := range map[string]any{"spec.json": s.Spec, "system.json": out, "topology.json": Topologies{domain.EvaluationTopologies(s.Spec.Agents), s.Topology}} {
		raw, err := json.MarshalIndent(v, "", "  ")
		if err != nil {
			return out, fault.As(fault.Fatal, err)
		}
		if err := put(dir, name, append(raw, '\n')); err != nil {
			return out, err
		}
	}
	return out, nil
}

// roles are those whose prompts the run uses.
func roles(s spec.Spec) []string {
	out := []string{prompts.Agent}
	for _, x := range []struct {
		role string
		used bool
	}{
		{prompts.Critic, s.Credit == spec.CreditCritic && s.Critic.Model != spec.RoleOracle},
		{prompts.Adversary, s.Adversary.Model != spec.RolePolicy},
		{prompts.Questions, len(s.FineTune.Levels) > 0 && s.Synthesis.Author != spec.RoleTemplate},
		{prompts.Instructions, len(s.FineTune.Levels) > 0 && s.Synthesis.Author != spec.RoleTemplate},
		{prompts.Summariser, s.Summariser.Model != spec.RoleTemplate},
	} {
		if x.used {
			out = append(out, x.role)
		}
	}
	return out
}

// write writes the agent's policy: the small one as its checkpoint; of others their files, what they are made of, and for an adapter how it is merged.
func (a *Agent) write(ctx context.Context, b store.Bucket, s spec.Spec, dir string) error {
	raw, err := store.GetBlob(ctx, b, a.Policy)
	if err != nil {
		return err
	}
	x, err := domain.DecodeArtifact(raw)
	if err != nil {
		if _, tiny := tinylm.Decode(raw); tiny != nil {
			return fault.New(fault.Corrupt, "%s is neither a checkpoint of the small policy (%w) nor an artifact (%w)", a.Policy, tiny, err)
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

// recipe is what LLaMA-Factory merges the adapter by, with path and template as the run's trainer has them, where it has; a quoted JSON text is one of YAML, too.
func (a *Agent) recipe(s spec.Spec) string {
	var o struct{ Model, Template string }
	if json.Unmarshal(s.Trainer.Options, &o) != nil || o.Model == "" {
		o.Model = a.Base.Name
	}
	if o.Template == "" {
		o.Template = "TEMPLATE"
	}
	model, _ := json.Marshal(o.Model) // a text cannot fail
	template, _ := json.Marshal(o.Template)
	return fmt.Sprintf(`# Merges agent %d's adapter into its base model. In this folder: llamafactory-cli export merge-agent-%d.yaml
model_name_or_path: %s # set your path of the base model; its digest: %s
adapter_name_or_path: %s
finetuning_type: lora
template: %s # the base model's chat template, such as qwen: the one that the run was trained with
export_dir: merged/agent-%d
export_size: 5
export_device: cpu
`, a.Agent, a.Agent, model, a.Base.Digest, a.Folder, template, a.Agent)
}

func put(dir, name string, body []byte) error {
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, body, 0o644)); err != nil {
		return fault.New(fault.Invalid, "write the system: %w", err)
	}
	return nil
}

// Readme says in a few lines what an exported folder holds; without a system, x is nil.
func Readme(run string, x *Exported) string {
	var b strings.Builder
	line := func(format string, args ...any) { _, _ = fmt.Fprintf(&b, format+"\n", args...) }
	line("# What run %s gives to others\n", run)
	line("- `*.sharegpt.jsonl`, `*.alpaca.jsonl`, `dataset_info.json`, `images/`: data sets for LLaMA-Factory (`dataset_dir: .`). `*.preference.jsonl`: the same as conversations, for TRL and others; `collabui import` reads it back.")
	line("- `sample.html`, `sample.csv`: rows drawn for a person to judge. `%s`: check all files by `sha256sum -c %s`.", SumsFile, SumsFile)
	if x == nil {
		line("- There is no system yet: stage 1 has not ended.")
		return b.String()
	}
	line("- `system/system.json`: how the %d agents decide together (epoch %d; 0 is the base policy). `system/topology.json`: who reads whom. `system/spec.json`: the run. `system/prompts/`: what agents are told.", len(x.Agents), x.Epoch)
	which := fmt.Sprint(x.Epoch)
	if x.Epoch == 0 {
		which = Base
	}
	base, rank, lora, tiny := "", 8, []string{}, false
	for _, a := range x.Agents {
		tiny = tiny || a.Kind == KindTiny
		if a.Kind == domain.ArtifactLoRA {
			base, lora = a.Base.Name, append(lora, fmt.Sprintf("agent-%d=%s/%s", a.Agent, SystemDir, a.Folder))
			for rank < a.Rank {
				rank *= 2
			}
		}
	}
	if tiny {
		line("- `system/policies/agent-K/%s`: collabui's small policy, which `collabui import` brings to another store (`finetune: {base: DIGEST}`).", tinyFile)
	} else {
		line("- `system/policies/agent-K/`: an agent's adapter or whole model, as Transformers, PEFT and vLLM read it; `agent-K.artifact.json` says what it is made of (kind base: the base model itself, no files).")
	}
	if len(lora) > 0 {
		line("- Serve the adapters: `vllm serve PATH-OF-%s --enable-lora --max-lora-rank %d --lora-modules %s`.", base, rank, strings.Join(lora, " "))
		line("- Merge one: set the path and the template in `system/merge-agent-K.yaml`, then `cd system && llamafactory-cli export merge-agent-K.yaml`.")
	}
	line("- As one endpoint of its own, all agents with their vote: `collabui infer %s --epoch %s`; live in an environment: `collabui infer %s --epoch %s --environment NAME`.", run, which, run, which)
	return b.String()
}

// Sums writes SumsFile over all files below a folder, by path, and gives the number of files with it.
func Sums(dir string) (int, error) {
	f, err := os.Create(filepath.Join(dir, SumsFile))
	if err != nil {
		return 0, fault.New(fault.Invalid, "write %s: %w", SumsFile, err)
	}
	n, w := 1, bufio.NewWriter(f)
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		name, _ := filepath.Rel(dir, path) // path stands below dir
		if err != nil || d.IsDir() || name == SumsFile {
			return err
		}
		in, err := os.Open(path)
		if err != nil {
			return err
		}
		n++
		h := sha256.New()
		_, err = io.Copy(h, in)
		_, _ = fmt.Fprintf(w, "%s  %s\n", hex.EncodeToString(h.Sum(nil)), filepath.ToSlash(name))
		return errors.Join(err, in.Close())
	})
	if err := errors.Join(err, w.Flush(), f.Close()); err != nil {
		return 0, fault.New(fault.Invalid, "hash the export: %w", err)
	}
	return n, nil
}
