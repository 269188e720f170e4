package infer

import (
	"fmt"
	"strings"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
)

// minRank is the lowest value of --max-lora-rank that vLLM accepts. The others are its multiples by powers of two.
const minRank = 8

// Readme returns the section about the system in an export's README.md, in Markdown. exported is nil if the run has no
// system yet.
func Readme(run string, exported *Exported) string {
	lines := []string{"## The trained system\n"}
	if exported == nil {
		lines = append(lines, "There is none yet: stage 1 has not ended.")
	} else {
		lines = append(lines, exported.readme(run)...)
	}

	return strings.Join(lines, "\n") + "\n"
}

// readme returns the lines about the system.
func (x *Exported) readme(run string) []string {
	lines := []string{fmt.Sprintf("- `system/system.json`: how the %d agents decide together (epoch %d; 0 is the base "+
		"policy). `system/topology.json`: who reads whom. `system/spec.json`: the run. `system/prompts/`: what agents "+
		"are told.", len(x.Agents), x.Epoch)}

	if x.tiny() {
		lines = append(lines, "- `system/policies/agent-K/"+tinyFile+"`: collabui's small policy, which "+
			"`collabui import` brings to another store (`finetune: {base: DIGEST}`).")
	} else {
		lines = append(lines, "- `system/policies/agent-K/`: an agent's adapter or whole model, in the form that "+
			"Transformers, PEFT and vLLM read; `agent-K.artifact.json` says what it is made of (kind base: the base "+
			"model itself, no files).")
	}
	lines = append(lines, x.adapters()...)

	which := fmt.Sprint(x.Epoch)
	if x.Epoch == 0 {
		which = Base
	}

	return append(lines, "- As one endpoint, all agents with their vote: `collabui infer "+run+" --epoch "+
		fault.ShellQuote(which)+"`.")
}

// tiny reports whether an agent's policy is a small policy.
func (x *Exported) tiny() bool {
	for _, agent := range x.Agents {
		if agent.Kind == KindTiny {
			return true
		}
	}

	return false
}

// adapters returns the lines about serving and merging adapters, or nil if the system has no adapters.
func (x *Exported) adapters() []string {
	base := ""
	rank := minRank
	modules := []string{}
	for _, agent := range x.Agents {
		if agent.Kind != domain.ArtifactLoRA {
			continue
		}

		base = agent.Base.Name
		modules = append(modules, fmt.Sprintf("agent-%d=%s/%s", agent.Agent, SystemDir, agent.Folder))
		for rank < agent.Rank {
			rank *= 2
		}
	}

	if len(modules) == 0 {
		return nil
	}

	path := fault.ShellQuote("PATH-OF-" + base)

	return []string{
		fmt.Sprintf("- Serve the adapters: `vllm serve %s --enable-lora --max-lora-rank %d --lora-modules %s`.",
			path, rank, strings.Join(modules, " ")),
		fmt.Sprintf("- Merge one, with the chat template that the run was trained with, such as qwen: "+
			"`llamafactory-cli export --model_name_or_path %s --adapter_name_or_path %s/policies/agent-K "+
			"--finetuning_type lora --template TEMPLATE --export_dir merged`.", path, SystemDir),
	}
}
