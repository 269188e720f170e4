package activities

import (
	"context"
	"runtime/debug"
	"strings"
	"time"

	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/prompts"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/internal/store"
)

// made returns what this worker has of that which must be the same on all workers of an epoch. A suite of nil is one
// that this worker does not play.
func (c *Common) made(ctx context.Context, s spec.Spec, suite envadapters.Suite) (m runs.Made, err error) {
	if m.Prompts, err = c.promptsOf(s); err != nil {
		return m, err
	}
	if s.Embedded() {
		m.Kernel = c.Kernel
	}
	if b, ok := suite.(envadapters.Browsing); ok {
		m.Browser, _ = b.Browser(ctx) // a control worker need not have one
	}
	if v, ok := suite.(envadapters.Versioned); ok {
		m.Version, _ = v.Version(ctx) // a server that is away fails what is played on it
	}

	return m, nil
}

// promptsOf returns the digest of the templates of all roles.
func (c *Common) promptsOf(s spec.Spec) (string, error) {
	known := runs.Digest(s.Prompts)
	if digest, ok := c.prompts.Load(known); ok {
		return digest.(string), nil
	}
	digests := map[string]string{}
	for _, role := range prompts.Roles {
		p, err := rules.Prompt(s, role)
		if err != nil {
			return "", err
		}
		digests[role] = p.Digest
	}
	digest := runs.Digest(digests)
	c.prompts.Store(known, digest)

	return digest, nil
}

// begin records with what an epoch begins, what this worker has and how many changes by people count, and returns the
// specification of the epoch. 0 is what comes before the first epoch; at the end of a run, the changes count that were
// made before its last evaluations.
func (c *Control) begin(ctx context.Context, id EpochID, last int) (spec.Spec, error) {
	run, epoch := id.Run, id.Epoch
	_, _, err := made(run, epoch).Record(ctx, c.Bucket, func() (m runs.Made, err error) {
		s, n, err := c.latest(ctx, run, id.Changes)
		if err != nil {
			return m, err
		}
		suite, err := c.Suites.get(ctx, s.Where(s.Environment))
		if err != nil {
			return m, err
		}
		if m, err = c.made(ctx, s, suite); err != nil {
			return m, err
		}
		m.Code = revision()
		if epoch == 0 {
			m.Began = time.Now().UTC()
		} else {
			m.Changes = n
		}
		if epoch == atEnd {
			m.Epoch = last

			return m, nil
		}
		m.Inventory, err = c.offered(ctx, s.Environment, suite)

		return m, err
	})
	if err != nil {
		return spec.Spec{}, err
	}

	return c.spec(ctx, run, epoch)
}

// offered writes what the environment of a run offers.
func (c *Common) offered(ctx context.Context, name string, suite envadapters.Suite) (*store.Ref, error) {
	i, err := inventory(ctx, name, suite)
	if err != nil {
		return nil, err
	}
	ref, err := i.PutBlob(ctx, c.Bucket)

	return &ref, err
}

// revision returns the revision of the source that this program was built from, if the build knew it.
func revision() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	code := ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			code = s.Value + code
		case s.Key == "vcs.modified" && s.Value == "true":
			code += ", changed"
		}
	}

	return code
}

// made returns where it is recorded with what an epoch began.
func made(run string, epoch int) runs.Object[runs.Made] {
	if epoch == atEnd {
		return runs.Run(run).Final()
	}

	return runs.Run(run).Made(epoch)
}

// begun returns with what an epoch began. It is kept of the two epochs that were asked for last.
func (c *Common) begun(ctx context.Context, run string, epoch int) (runs.Made, error) {
	v, err := c.versions(ctx, run)
	if err != nil {
		return runs.Made{}, err
	}
	if m, ok := v.begun.of(epoch); ok {
		return m, nil
	}
	m, _, err := made(run, epoch).Must(ctx, c.Bucket)
	if err == nil {
		v.begun.keep(epoch, m)
	}

	return m, err
}

// sameAs refuses to work on an epoch that began with something else than this worker has, unless a person accepted
// that. Another worker may have it, so the fault is transient.
func (c *Common) sameAs(ctx context.Context, s spec.Spec, epoch int, suite envadapters.Suite) error {
	want, err := c.begun(ctx, s.Name, epoch)
	if err != nil {
		return err
	}
	here, err := c.made(ctx, s, suite)
	if err != nil {
		return err
	}

	var differ []string
	compare := func(what, own, want string) {
		if own != want && own != "" && want != "" {
			differ = append(differ, what+" "+own+" instead of "+want)
		}
	}
	compare("the prompts", here.Prompts, want.Prompts)
	compare("the kernel", here.Kernel, want.Kernel)
	compare("the browser", here.Browser, want.Browser)
	compare("the environment", here.Version, want.Version)
	if len(differ) == 0 {
		return nil
	}

	if epoch == atEnd {
		epoch = want.Epoch
	}
	accepted, err := runs.Run(s.Name).IsAccepted(ctx, c.Bucket, epoch)
	if err != nil || accepted {
		return err
	}

	return fault.New(fault.Transient, "the worker on %s has %s with which epoch %d was begun: "+
		"give it the same version, or go on with what it has by `collabui resume %s --accept-failed --why TEXT`",
		Hostname(), strings.Join(differ, " and "), epoch, s.Name)
}
