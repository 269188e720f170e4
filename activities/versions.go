package activities

import (
	"context"
	"strings"

	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/method/prompts"
	"github.com/collabui/collabui/internal/method/rules"
	"github.com/collabui/collabui/internal/method/spec"
	"github.com/collabui/collabui/internal/records/runs"
)

// Versions returns the versions in this process of everything that must be the same on all workers of an epoch. If the
// suite is nil, this worker does not play it.
func (k *Runs) Versions(ctx context.Context, specification spec.Spec, suite envadapters.Suite) (runs.Made, error) {
	digest, err := k.promptsDigest(specification)
	if err != nil {
		return runs.Made{}, err
	}
	versions := runs.Made{Prompts: digest}
	if specification.Embedded() {
		versions.Kernel = k.kernel
	}
	if browsing, ok := suite.(envadapters.Browsing); ok {
		versions.Browser, _ = browsing.Browser(ctx) // a control worker need not have a browser
	}
	if versioned, ok := suite.(envadapters.Versioned); ok {
		versions.Version, _ = versioned.Version(ctx) // a server that is away fails what is played on it
	}

	return versions, nil
}

// promptsDigest returns the digest of the templates of all roles.
func (k *Runs) promptsDigest(specification spec.Spec) (string, error) {
	key := runs.Digest(specification.Prompts)
	if digest, ok := k.prompts.Load(key); ok {
		return digest.(string), nil
	}
	digests := map[string]string{}
	for _, role := range prompts.Roles {
		prompt, err := rules.Prompt(specification, role)
		if err != nil {
			return "", err
		}
		digests[role] = prompt.Digest
	}
	digest := runs.Digest(digests)
	k.prompts.Store(key, digest)

	return digest, nil
}

// CheckVersions refuses to work on an epoch that began with other versions than this worker has, unless a person
// accepted that. Another worker may have the right ones, so the fault is transient.
func (k *Runs) CheckVersions(ctx context.Context, specification spec.Spec, epoch int, suite envadapters.Suite) error {
	want, err := k.Beginning(ctx, specification.Name, epoch)
	if err != nil {
		return err
	}
	here, err := k.Versions(ctx, specification, suite)
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

	if epoch == AtEnd {
		epoch = want.Epoch
	}
	accepted, err := runs.Run(specification.Name).IsAccepted(ctx, k.bucket, epoch)
	if err != nil || accepted {
		return err
	}

	return fault.New(fault.Transient, "the worker on %s has %s with which epoch %d was begun: "+
		"give it the same version, or go on with what it has by `collabui resume %s --accept-failed --why TEXT`",
		Hostname(), strings.Join(differ, " and "), epoch, specification.Name)
}
