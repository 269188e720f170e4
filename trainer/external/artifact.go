package external

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/store"
)

// PutArtifact stores a policy: its files, given by their names in the artifact, then the artifact itself. It returns
// the complete artifact and the digest that names the policy. It may be repeated.
func PutArtifact(
	ctx context.Context, bucket store.Bucket, artifact domain.Artifact, files map[string]string,
) (domain.Artifact, string, error) {
	var err error
	if artifact.Files, err = putFiles(ctx, bucket, files); err != nil {
		return artifact, "", err
	}

	body, digest := artifact.Encode()
	_, err = store.PutBlob(ctx, bucket, body)

	return artifact, digest, err
}

// putFiles stores files by content, in the order of their names.
func putFiles(ctx context.Context, bucket store.Bucket, files map[string]string) ([]domain.ArtifactFile, error) {
	out := []domain.ArtifactFile{}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		ref, err := store.PutBlobFile(ctx, bucket, files[name])
		if err != nil {
			return nil, err
		}
		out = append(out, domain.ArtifactFile{Path: name, Key: ref.Key, SHA256: ref.SHA256, Size: ref.Size})
	}

	return out, nil
}

// artifact reads a policy of the store; "" means the unchanged base model.
func (t *Trainer) artifact(ctx context.Context, digest string, base Local) (domain.Artifact, error) {
	if digest == "" {
		return base.Artifact, nil
	}

	raw, err := store.GetBlob(ctx, t.Bucket, digest)
	if errors.Is(err, store.ErrAbsent) {
		err = fmt.Errorf("if `collabui import FOLDER --base-model %s` was never called with policy %s, do so: %w",
			fault.ShellQuote(base.Dir), digest, err)
	}
	if err != nil {
		return domain.Artifact{}, err
	}

	a, err := domain.DecodeArtifact(raw)
	if err != nil {
		return a, fault.New(fault.Invalid, "%s is not a policy of a training program: %w", digest, err)
	}
	if a.Base != base.Base {
		return a, fault.New(fault.Invalid, "policy %s belongs to the base model %s (%.12s), not to %s (%.12s) in %s",
			digest, a.Base.Name, a.Base.Digest, base.Base.Name, base.Base.Digest, base.Dir)
	}

	return a, nil
}

// local brings a policy's files to this host, all of them or none.
func (t *Trainer) local(ctx context.Context, digest string, base Local) (Local, error) {
	artifact, err := t.artifact(ctx, digest, base)
	if err != nil || artifact.Kind == domain.ArtifactBase {
		return Local{Artifact: artifact, Dir: base.Dir}, err
	}

	dir := filepath.Join(t.Work, "policies", digest)
	touch(dir)
	if _, err := os.Stat(dir); err == nil && store.CheckFiles(dir, artifact.Sums()) != nil { // Something changed it.
		if err := os.RemoveAll(dir); err != nil {
			return Local{}, fault.As(fault.Transient, err)
		}
	}

	if err := store.GetFiles(ctx, t.Bucket, artifact.Sums(), dir); err != nil {
		return Local{}, err
	}

	return Local{Artifact: artifact, Dir: dir}, NoCode(dir)
}
