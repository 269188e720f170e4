package deploy

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestRealToolsListWhatAProgramIsMadeOf makes the SBOM of releases and images.
func TestRealToolsListWhatAProgramIsMadeOf(t *testing.T) {
	tool(t, "COLLABUI_SBOM")
	program := filepath.Join(root, "bin/collabui")
	out, err := exec.Command(filepath.Join(root, "scripts/sbom.sh"), program, "v1.2.3").Output()
	if err != nil {
		t.Fatalf("sbom.sh: %v, want a list", err)
	}
	var bom struct {
		Format   string `json:"bomFormat"`
		Metadata struct {
			Component struct{ Version string }
		}
		Components []struct{ Name, Version string }
	}
	if err := json.Unmarshal(out, &bom); err != nil {
		t.Fatalf("sbom.sh prints %.200s: %v, want JSON", out, err)
	}
	if bom.Format != "CycloneDX" || bom.Metadata.Component.Version != "v1.2.3" {
		t.Errorf("the list is %s of version %s, want CycloneDX and v1.2.3", bom.Format, bom.Metadata.Component.Version)
	}
	has := map[string]bool{}
	for _, c := range bom.Components {
		has[c.Name] = c.Version != ""
	}
	for _, name := range []string{"std", "go.temporal.io/sdk", "github.com/minio/minio-go/v7"} {
		if !has[name] {
			t.Errorf("the list lacks %s with its version, want it among its %d components", name, len(bom.Components))
		}
	}
}
