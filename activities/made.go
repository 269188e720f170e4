package activities

import (
	"context"
	"strings"

	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/prompts"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/store/runs"
)

// made returns what this worker has of that which must be the same on all workers of an epoch. A suite of nil is one
// that this worker does not play.
func (c *Common) made(ctx context.Context, s spec.Spec, suite envadapters.Suite) (m runs.Made) {
	if s.Embedded() {
		m.Kernel = c.Kernel
	}
	if b, ok := suite.(envadapters.Browsing); ok {
		m.Browser, _ = b.Browser(ctx) // a control worker need not have one
	}

	return m
}

// sameAs refuses to work on an epoch that was begun with something else than this worker has, unless a person accepted
// that. Another worker may have it, so the fault is transient.
func (c *Common) sameAs(ctx context.Context, s spec.Spec, begun runs.Slots, suite envadapters.Suite) error {
	here := c.made(ctx, s, suite)
	prompt, err := rules.Prompt(s, prompts.Agent)
	if err != nil {
		return err
	}

	var differ []string
	compare := func(what, own, want string) {
		if own != want && own != "" && want != "" {
			differ = append(differ, what+" "+own+" instead of "+want)
		}
	}
	compare("the agents' prompts", prompt.Digest, begun.Prompt)
	if begun.Made != nil {
		compare("the kernel", here.Kernel, begun.Made.Kernel)
		compare("the browser", here.Browser, begun.Made.Browser)
	}
	if len(differ) == 0 {
		return nil
	}

	accepted, err := runs.Run(s.Name).Accepted(begun.Epoch).Exists(ctx, c.Bucket)
	if err != nil || accepted {
		return err
	}

	return fault.New(fault.Transient, "the worker on %s has %s with which epoch %d was begun: "+
		"give it the same version, or go on with what it has by `collabui resume %s --accept-failed --why TEXT`",
		hostname(), strings.Join(differ, " and "), begun.Epoch, s.Name)
}
