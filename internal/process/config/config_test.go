package config

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestEnvironIsTheInverseOfFromEnv(t *testing.T) {
	for _, s3 := range []string{"127.0.0.1:9000", "https://s3.example.com", "http://minio:9000"} {
		t.Run(s3, func(t *testing.T) {
			e := Endpoints{
				Temporal: "t:7233", TemporalKey: "k", Namespace: "ns",
				Redis: "redis://:pw@r:6379", Policy: "http://p/v1", PolicyKey: "p",
				TemporalTLS: TLS{On: s3[0] == 'h', CA: "ca.pem", Cert: "c.pem", Key: "k.pem", Name: "n"},
			}
			e.SetStore(s3)
			e.Store.Bucket, e.Store.Access, e.Store.Secret = "b", "a", "s"

			for _, x := range e.secrets() {
				t.Setenv(x.name+"_FILE", "/nowhere") // of the parent, whose content is passed on
			}
			for _, kv := range e.Environ() {
				k, v, _ := strings.Cut(kv, "=")
				t.Setenv(k, v)
			}

			got, err := FromEnv()
			if err != nil || !reflect.DeepEqual(got, e) {
				t.Errorf("FromEnv = %+v, %v; want %+v", got, err, e)
			}
			if want := strings.HasPrefix(s3, "https://"); got.Store.TLS != want {
				t.Errorf("TLS of the store = %v, want %v", got.Store.TLS, want)
			}
			var again Endpoints
			again.SetStore(e.StoreURL())
			if again.Store.TLS != e.Store.TLS || again.Store.Endpoint != e.Store.Endpoint {
				t.Errorf("SetStore(%q) = %+v, want %+v", e.StoreURL(), again.Store, e.Store)
			}
		})
	}
}

func TestSecretsComeFromFiles(t *testing.T) {
	f := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(f, []byte("k-1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv(EnvSecret+"_FILE", f)

	e, err := FromEnv()
	if err != nil || e.Store.Secret != "k-1" {
		t.Errorf("the secret key = %q, %v; want k-1", e.Store.Secret, err)
	}
}

func TestRedactedAddressesHoldNoPassword(t *testing.T) {
	const unreadable = "(an unreadable address)"
	for in, want := range map[string]string{
		"":                            "",
		"127.0.0.1:9000":              "127.0.0.1:9000",
		"http://h/v1":                 "http://h/v1",
		"redis://:pw@h:1/0":           "redis://:xxxxx@h:1/0",
		"redis://:p,w,pw@h:1":         "redis://:xxxxx@h:1",
		"redis://a:pw@h:x y":          unreadable,
		"http://h/v1,a:pw@g/v1":       unreadable,
		"a:pw@g:1/v1":                 unreadable,
		"http://h/v1,http://pw@g:x y": "http://h/v1," + unreadable,
		"http://a:pw@h/v1, https://b:pw@g/v1 ,http://f/v1": "http://a:xxxxx@h/v1,https://b:xxxxx@g/v1,http://f/v1",
	} {
		got := Redacted(in)
		if got != want {
			t.Errorf("Redacted(%q) = %q, want %q", in, got, want)
		}
		if strings.Contains(got, "pw") {
			t.Errorf("Redacted(%q) = %q, want no password", in, got)
		}
	}
}

func TestPoliciesAreAList(t *testing.T) {
	for in, want := range map[string][]string{
		"":            nil,
		" , ":         nil,
		"http://a/v1": {"http://a/v1"},
		" http://a/v1/ ,, http://b/v1,http://a/v1": {"http://a/v1", "http://b/v1"},
	} {
		e := Endpoints{Temporal: "t", Policy: in}
		e.Store.Endpoint = "s"
		if got := e.Policies(); !slices.Equal(got, want) {
			t.Errorf("Policies of %q = %q, want %q", in, got, want)
		}
		if err := e.Complete(); (err == nil) != (want != nil) {
			t.Errorf("Complete with policies %q = %v, want an error only without policies", in, err)
		}
	}
}
