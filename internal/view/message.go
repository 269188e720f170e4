package view

import (
	"context"

	"github.com/collabui/collabui/internal/method/prompts"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/store"
	"github.com/collabui/collabui/internal/store/runs"
)

// MessageOf returns the agents' system message in an epoch, by the digest of its prompt. It is empty if that prompt is
// neither in the specification nor in this build.
func MessageOf(ctx context.Context, b store.Bucket, run runs.Run, epoch int, digest string) (string, error) {
	s, err := run.At(ctx, b, epoch)
	if err != nil {
		return "", err
	}
	p, err := rules.Prompt(s, prompts.Agent)
	if err != nil || p.Digest != digest {
		return "", nil
	}
	t, err := rules.Template(s)
	if err != nil {
		return "", err
	}

	return t.System(), nil
}
