package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestEnvironRoundTrip(t *testing.T) {
	for _, s3 := range []string{"127.0.0.1:9000", "https://s3.example.com", "http://minio:9000"} {
		var e Endpoints
		e.Temporal, e.Namespace, e.Redis, e.Policy = "t:7233", "ns", "redis://:pw@r:6379", "http://p/v1"
		e.SetStore(s3)
		e.Store.Bucket, e.Store.Access, e.Store.Secret = "b", "a", "s"
		for _, kv := range e.Environ() {
			k, v, _ := strings.Cut(kv, "=")
			t.Setenv(k, v)
		}
		got, err := FromEnv()
		if err != nil || got != e || got.Store.TLS != strings.HasPrefix(s3, "https://") {
			t.Errorf("%s: %+v, want %+v (%v)", s3, got, e, err)
		}
		var again Endpoints
		if again.SetStore(e.StoreURL()); again.Store.TLS != e.Store.TLS || again.Store.Endpoint != e.Store.Endpoint {
			t.Errorf("%s: %q does not lead back", s3, e.StoreURL())
		}
	}
}

func TestSecretsComeFromFilesAndStayOutOfSight(t *testing.T) {
	f := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(f, []byte("k-1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv(EnvSecret+"_FILE", f)
	if e, err := FromEnv(); err != nil || e.Store.Secret != "k-1" {
		t.Error(e, err)
	}
	for in, want := range map[string]string{"redis://:pw@h:1/0": "redis://:xxxxx@h:1/0", "127.0.0.1:9000": "127.0.0.1:9000", "redis://a:pw@h:x y": "(an unreadable address)", "http://h/v1": "http://h/v1", "": ""} {
		if got := Redacted(in); got != want || strings.Contains(got, "pw") {
			t.Errorf("%q: %q", in, got)
		}
	}
}
