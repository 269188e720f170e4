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

// ArtifactKind is the kind of the parameters that an artifact holds.
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
	// Rank is the rank of a LoRA adapter.
	Rank int `json:"rank,omitempty"`
	// Files are sorted by path. They are the policy's own, without the files of the training.
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
	hash := sha256.New()
	_, _ = fmt.Fprintln(hash, a.Kind, a.Base.Digest)

	for _, file := range a.Files {
		if strings.HasSuffix(file.Path, ".safetensors") {
			_, _ = fmt.Fprintln(hash, file.Path, file.SHA256)
		}
	}

	return hex.EncodeToString(hash.Sum(nil))
}

// Sums returns the files' hashes by path.
func (a Artifact) Sums() map[string]string {
	out := map[string]string{}
	for _, file := range a.Files {
		out[file.Path] = file.SHA256
	}

	return out
}

// DecodeArtifact reads what Encode wrote. It fails if the bytes are not an artifact, or if a path leaves the folder
// that the files are written to or is the path of a program.
func DecodeArtifact(body []byte) (Artifact, error) {
	var artifact Artifact
	dec := json.NewDecoder(strings.NewReader(string(body)))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&artifact); err != nil {
		return artifact, fmt.Errorf("not an artifact: %w", err)
	}

	switch artifact.Kind {
	case ArtifactBase, ArtifactLoRA, ArtifactFull:
	default:
		return artifact, fmt.Errorf("not an artifact: unknown kind %q", artifact.Kind)
	}
	if (artifact.Kind == ArtifactBase) != (len(artifact.Files) == 0) {
		return artifact, fmt.Errorf("an artifact of kind %s cannot have %d files", artifact.Kind, len(artifact.Files))
	}

	for _, file := range artifact.Files {
		if !file.inside() {
			return artifact, fmt.Errorf("an artifact cannot have a file with the path %q", file.Path)
		}
		if slices.Contains(codeSuffixes, strings.ToLower(path.Ext(file.Path))) {
			return artifact, fmt.Errorf("an artifact cannot have the file %q, which is code or loaded by running code",
				file.Path)
		}
	}

	return artifact, nil
}

// codeSuffixes are the suffixes of files that loading a policy could run: programs, libraries and pickles.
var codeSuffixes = []string{".py", ".pyc", ".so", ".bin", ".pt", ".pth", ".ckpt", ".pkl", ".pickle"}

// inside reports whether the path is canonical and stays inside the folder that it is relative to.
func (f ArtifactFile) inside() bool {
	return f.Path != "" && path.Clean(f.Path) == f.Path && !path.IsAbs(f.Path) &&
		!strings.HasPrefix(f.Path, "..") && !strings.ContainsRune(f.Path, '\\')
}
