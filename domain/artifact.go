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

// ArtifactKind says which parameters an artifact holds.
type ArtifactKind string

// The kinds of artifacts.
const (
	ArtifactBase ArtifactKind = "base" // the unchanged base model: no files
	ArtifactLoRA ArtifactKind = "lora" // an adapter on the base model
	ArtifactFull ArtifactKind = "full" // all parameters
)

// Artifact is a policy as a set of files, which training programs write and servers of language models load. It is
// stored as a blob whose digest names the policy. It holds nothing that differs between two equal results: neither a
// time nor a host.
type Artifact struct {
	Kind ArtifactKind `json:"kind"`
	// Base is the model that the adapter belongs to, or that the parameters replace.
	Base BaseModel `json:"base"`
	// Rank is that of a LoRA adapter.
	Rank int `json:"rank,omitempty"`
	// Files are sorted by path. They are the policy's own; those of the training are left out.
	Files []ArtifactFile `json:"files"`
}

// BaseModel identifies a base model, a folder of weights of which every host has a copy.
type BaseModel struct {
	// Name is the folder's last element.
	Name string `json:"name"`
	// Digest identifies the model's bytes without reading its weights; see ModelDigest in trainer/external.
	Digest string `json:"digest"`
}

// ArtifactFile is one file of an artifact. Its bytes are a blob of the store.
type ArtifactFile struct {
	// Path is relative and has slashes.
	Path   string `json:"path"`
	Key    string `json:"key"`
	SHA256 string `json:"sha256"`
	Size   int64  `json:"size"`
}

// Encode returns the canonical form of the artifact, and the digest that names the policy.
func (a Artifact) Encode() (body []byte, digest string) {
	a.Files = slices.Clone(a.Files)
	slices.SortFunc(a.Files, func(x, y ArtifactFile) int { return strings.Compare(x.Path, y.Path) })

	body, err := json.Marshal(a)
	if err != nil {
		panic(err) // An artifact holds plain values only.
	}

	sum := sha256.Sum256(body)

	return body, hex.EncodeToString(sum[:])
}

// TensorDigest returns a digest of the parameters alone: of the files that hold them.
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

// Sums returns the files' hashes by path.
func (a Artifact) Sums() map[string]string {
	out := map[string]string{}
	for _, f := range a.Files {
		out[f.Path] = f.SHA256
	}

	return out
}

// DecodeArtifact reads what Encode wrote. It fails if the bytes are not an artifact, or if a path leaves the folder
// that the files are written to or is that of a program.
func DecodeArtifact(body []byte) (Artifact, error) {
	var a Artifact
	dec := json.NewDecoder(strings.NewReader(string(body)))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&a); err != nil {
		return a, fmt.Errorf("not an artifact: %w", err)
	}

	switch a.Kind {
	case ArtifactBase, ArtifactLoRA, ArtifactFull:
	default:
		return a, fmt.Errorf("not an artifact: unknown kind %q", a.Kind)
	}
	if (a.Kind == ArtifactBase) != (len(a.Files) == 0) {
		return a, fmt.Errorf("an artifact of kind %s cannot have %d files", a.Kind, len(a.Files))
	}

	for _, f := range a.Files {
		if !f.inside() {
			return a, fmt.Errorf("an artifact cannot have a file with the path %q", f.Path)
		}
		if slices.Contains(codeSuffixes, strings.ToLower(path.Ext(f.Path))) {
			return a, fmt.Errorf("an artifact cannot have the file %q, which is code or loaded by running code", f.Path)
		}
	}

	return a, nil
}

// codeSuffixes are those of files that loading a policy could run: programs, libraries and pickles.
var codeSuffixes = []string{".py", ".pyc", ".so", ".bin", ".pt", ".pth", ".ckpt", ".pkl", ".pickle"}

// inside reports whether the path is canonical and stays inside the folder that it is relative to.
func (f ArtifactFile) inside() bool {
	return f.Path != "" && path.Clean(f.Path) == f.Path && !path.IsAbs(f.Path) &&
		!strings.HasPrefix(f.Path, "..") && !strings.ContainsRune(f.Path, '\\')
}
