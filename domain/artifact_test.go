package domain

import (
	"reflect"
	"testing"
)

func TestArtifactsAreDecodedStrictly(t *testing.T) {
	file := func(path string) []ArtifactFile { return []ArtifactFile{{Path: path, SHA256: "0"}} }

	for name, c := range map[string]struct {
		in Artifact
		ok bool
	}{
		"base model":           {in: Artifact{Kind: ArtifactBase, Files: []ArtifactFile{}}, ok: true},
		"adapter":              {in: Artifact{Kind: ArtifactLoRA, Rank: 8, Files: file("a/b.safetensors")}, ok: true},
		"unknown kind":         {in: Artifact{Kind: "tiny", Files: file("a")}},
		"base model and files": {in: Artifact{Kind: ArtifactBase, Files: file("a")}},
		"adapter of no files":  {in: Artifact{Kind: ArtifactLoRA}},
		"no path":              {in: Artifact{Kind: ArtifactFull, Files: file("")}},
		"absolute path":        {in: Artifact{Kind: ArtifactFull, Files: file("/a")}},
		"path to the outside":  {in: Artifact{Kind: ArtifactFull, Files: file("../a")}},
		"unclean path":         {in: Artifact{Kind: ArtifactFull, Files: file("a/../../b")}},
		"backslash":            {in: Artifact{Kind: ArtifactFull, Files: file(`a\b`)}},
	} {
		t.Run(name, func(t *testing.T) {
			body, _ := c.in.Encode()
			got, err := DecodeArtifact(body)
			if (err == nil) != c.ok {
				t.Fatalf("DecodeArtifact(%s): error %v, want success %v", body, err, c.ok)
			}
			if c.ok && !reflect.DeepEqual(got, c.in) {
				t.Errorf("DecodeArtifact(%s) = %+v, want %+v", body, got, c.in)
			}
		})
	}

	t.Run("unknown field", func(t *testing.T) {
		const body = `{"kind":"base","host":"a"}`
		if _, err := DecodeArtifact([]byte(body)); err == nil {
			t.Errorf("DecodeArtifact(%s) succeeded, want an error", body)
		}
	})
}
