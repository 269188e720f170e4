package domain

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
)

// Kinds of artifacts.
const (
	ArtifactBase = "base" // the base model as it stands: no files
	ArtifactLoRA = "lora" // an adapter on the base model
	ArtifactFull = "full" // all parameters
)

// Artifact is a policy that is a set of files: what trainers outside of this process make and servers of language models load. It is stored as a blob; the
// digest of that blob names the policy. It holds nothing that differs between two equal results: no time, no host.
type Artifact struct {
	Kind  string         `json:"kind"`
	Base  BaseModel      `json:"base"`           // that the adapter belongs to, or that the parameters replace
	Rank  int            `json:"rank,omitempty"` // of a LoRA adapter
	Files []ArtifactFile `json:"files"`          // by path; those that make the policy, nothing of the training
}

// BaseModel is a base model: a folder of weights, which every host has for itself. Digest identifies its bytes as far as can be told without reading them, see
// ModelDigest of trainer/external.
type BaseModel struct {
	Name   string `json:"name"` // the folder's last element
	Digest string `json:"digest"`
}

// ArtifactFile is one file of an artifact; its bytes are a blob of the store.
type ArtifactFile struct {
	Path   string `json:"path"` // relative, with slashes
	Key    string `json:"key"`
	SHA256 string `json:"sha256"`
	Size   int64  `json:"size"`
}

// Encode gives the artifact's one form, and the digest that names the policy.
func (a Artifact) Encode() (body []byte, digest string) {
	a.Files = slices.Clone(a.Files)
	slices.SortFunc(a.Files, func(x, y ArtifactFile) int { return strings.Compare(x.Path, y.Path) })
	body, err := json.Marshal(a)
	if err != nil {
		panic(err) // plain values only
	}
	sum := sha256.Sum256(body)
	return body, hex.EncodeToString(sum[:])
}

// TensorDigest is that of the parameters alone: of the files that hold them.
func (a Artifact) TensorDigest() string {
	h := sha256.New()
	_, _ = fmt.Fprintln(h, a.Kind, a.Base.Digest)
	for _, f := range a.Files {
		if strings.HasSuffix(f.Path, ".safetensors") {
			_, _ = fmt.Fprintln(h, f.Path, f.SHA256)
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Sums are the files' hashes by path.
func (a Artifact) Sums() map[string]string {
	out := map[string]string{}
	for _, f := range a.Files {
		out[f.Path] = f.SHA256
	}
	return out
}

// DecodeArtifact reads what Encode wrote; an error says that the bytes are no artifact. Its paths stay inside of the folder that they are written to.
func DecodeArtifact(body []byte) (Artifact, error) {
	var a Artifact
	dec := json.NewDecoder(strings.NewReader(string(body)))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&a); err != nil {
		return a, fmt.Errorf("no artifact: %w", err)
	}
	if !slices.Contains([]string{ArtifactBase, ArtifactLoRA, ArtifactFull}, a.Kind) {
		return a, fmt.Errorf("no artifact: kind %q", a.Kind)
	}
	if (a.Kind == ArtifactBase) != (len(a.Files) == 0) {
		return a, fmt.Errorf("an artifact of kind %s with %d files", a.Kind, len(a.Files))
	}
	for _, f := range a.Files {
		if f.Path == "" || path.IsAbs(f.Path) || path.Clean(f.Path) != f.Path || strings.HasPrefix(f.Path, "..") || strings.ContainsRune(f.Path, '\\') {
			return a, fmt.Errorf("an artifact with the path %q", f.Path)
		}
	}
	return a, nil
}
