package infer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/method/prompts"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/store"
)

// SystemDir is the folder of an export that contains the trained system.
const SystemDir = "system"

// Exported is the content of system.json, which specifies how the system decides. Its topologies are in topology.json.
type Exported struct {
	Run       string                `json:"run"`
	Epoch     int                   `json:"epoch"` // the epoch that made it; 0 is the system of the base policy
	Family    domain.Family         `json:"actions"`
	Rounds    int                   `json:"rounds"`
	TopP      float64               `json:"top_p"`
	MaxTokens int                   `json:"max_tokens"`
	VoteScope agents.VoteScope      `json:"vote_scope"`
	Answers   agents.Parsing        `json:"answers"`
	Prompts   map[string]TemplateID `json:"prompts"` // by role
	Agents    []Agent               `json:"agents"`
}

// TemplateID identifies a prompt template.
type TemplateID struct {
	Version string `json:"version"`
	Digest  string `json:"digest"`
}

// Topologies is the content of topology.json.
type Topologies struct {
	// Evaluation lists the topologies from which episodes draw. Infer draws one by its seed.
	Evaluation []domain.Topology `json:"evaluation"`
	// Epoch is the topology on which the epoch was trained. It is nil for the base policy.
	Epoch *domain.Topology `json:"epoch,omitempty"`
}

// Write writes the system into a folder that must not contain one: the specification, how the system decides, its
// topologies, its prompts and the policy of every agent. It streams large files. Files written before an error stay.
func (s TrainedSystem) Write(ctx context.Context, bucket store.Bucket, dir string) (Exported, error) {
	config, err := s.Config(0)
	if err != nil {
		return Exported{}, err
	}

	out := Exported{
		Run:       s.Run,
		Epoch:     s.Epoch,
		Family:    s.Spec.Family(),
		Rounds:    config.Rounds,
		TopP:      config.TopP,
		MaxTokens: config.MaxTokens,
		VoteScope: config.VoteScope,
		Answers:   config.Answers,
	}

	if out.Prompts, err = s.writePrompts(dir); err != nil {
		return out, err
	}
	if out.Agents, err = s.writeAgents(ctx, bucket, dir, config.Temperature); err != nil {
		return out, err
	}

	topologies := Topologies{Evaluation: domain.EvaluationTopologies(s.Spec.Agents), Epoch: s.Topology}
	for name, value := range map[string]any{"spec.json": s.Spec, "system.json": out, "topology.json": topologies} {
		raw, err := json.MarshalIndent(value, "", "  ")
		if err != nil {
			return out, fault.As(fault.Fatal, err)
		}
		if err := writeFile(dir, name, append(raw, '\n')); err != nil {
			return out, err
		}
	}

	return out, nil
}

// writePrompts writes the prompt templates that the run uses and returns their identities by role.
func (s TrainedSystem) writePrompts(dir string) (map[string]TemplateID, error) {
	out := map[string]TemplateID{}
	for _, role := range roles(s.Spec) {
		text, own := s.Spec.Prompts[role]
		if !own {
			var err error
			if text, err = prompts.Default(role); err != nil {
				return out, fault.As(fault.Fatal, err)
			}
		}

		prompt, err := prompts.Parse(text)
		if err != nil {
			return out, fault.New(fault.Invalid, "prompt of role %s: %w", role, err)
		}

		out[role] = TemplateID{Version: prompt.Version, Digest: prompt.Digest}
		if err := writeFile(dir, "prompts/"+role+".tmpl", []byte(text)); err != nil {
			return out, err
		}
	}

	return out, nil
}

// writeAgents writes the policy of every agent.
func (s TrainedSystem) writeAgents(
	ctx context.Context, b store.Bucket, dir string, temperature []float64,
) ([]Agent, error) {
	var out []Agent
	for i, policy := range s.Policies {
		agent := Agent{
			Agent:       i,
			Policy:      policy.Digest,
			Tensor:      policy.Tensor,
			Folder:      fmt.Sprintf("policies/agent-%d", i),
			Temperature: temperature[i],
		}
		if i < len(s.Reports) {
			agent.Trained = s.Reports[i]
		}

		if err := agent.write(ctx, b, dir); err != nil {
			return out, fmt.Errorf("policy of agent %d: %w", i, err)
		}
		out = append(out, agent)
	}

	return out, nil
}

// roles returns the roles whose prompts the run uses.
func roles(specification spec.Spec) []string {
	out := []string{prompts.Agent}
	add := func(role string, used bool) {
		if used {
			out = append(out, role)
		}
	}

	authored := len(specification.FineTune.Levels) > 0 && specification.Synthesis.Author != spec.RoleTemplate
	add(prompts.Critic, specification.Credit == "critic" && specification.Critic.Model != spec.RoleOracle)
	add(prompts.Adversary, specification.Adversary.Prompted())
	add(prompts.Questions, authored)
	add(prompts.Instructions, authored)
	add(prompts.Summariser, specification.Summariser.Model != spec.RoleTemplate)

	return out
}

func writeFile(dir, name string, body []byte) error {
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, body, 0o600)); err != nil {
		return fault.New(fault.Invalid, "write the system: %w", err)
	}

	return nil
}
