package view

import (
	"context"

	"github.com/collabui/collabui/internal/method/prompts"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
)

// MessageOf returns the agents' system message in an epoch, by the digest of its prompt. It is empty if that prompt is
// neither in the specification nor in this build.
func MessageOf(ctx context.Context, bucket store.Bucket, run runs.Run, epoch int, digest string) (string, error) {
	specification, err := run.At(ctx, bucket, epoch)
	if err != nil {
		return "", err
	}
	prompt, err := rules.Prompt(specification, prompts.Agent)
	if err != nil || prompt.Digest != digest {
		return "", nil
	}
	template, err := rules.Template(specification)
	if err != nil {
		return "", err
	}

	return template.System(), nil
}
