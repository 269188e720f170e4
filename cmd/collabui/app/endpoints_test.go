package app

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/collabui/collabui/internal/config"
	"github.com/collabui/collabui/internal/store"
)

// TestAnAddressIsTheStoreWhileNoServicesRun has a data folder whose own S3 server ran once.
func TestAnAddressIsTheStoreWhileNoServicesRun(t *testing.T) {
	a := &App{Data: t.TempDir()}
	if err := os.MkdirAll(filepath.Join(a.Data, "services", "s3", "collabui"), 0o755); err != nil {
		t.Fatal(err)
	}
	for address, own := range map[string]bool{"": true, "127.0.0.1:9": false} {
		t.Setenv(config.EnvS3, address)
		t.Setenv(config.EnvAccess, "a")
		t.Setenv(config.EnvSecret, "b")
		b, endpoints, err := a.OpenObjects()
		if _, files := b.(store.Files); err != nil || files != own || endpoints.Temporal != "" {
			t.Errorf("with %s=%s the store is %T, %v, Temporal at %q; want the folder: %v, and no Temporal",
				config.EnvS3, address, b, err, endpoints.Temporal, own)
		}
	}
}
