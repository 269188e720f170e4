package config

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alicebob/miniredis/v2"

	"github.com/collabui/collabui/fault"
)

// secretFile makes a variable name a file with a secret, and returns a function that replaces the file.
func secretFile(t *testing.T, name, secret string) (replace func(secret string)) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "secret")
	replace = func(secret string) {
		t.Helper()
		if err := os.WriteFile(path+".new", []byte(secret+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
	}
	replace(secret)
	t.Setenv(name+file, path)

	return replace
}

func TestASecretInAFileIsReadAgain(t *testing.T) {
	replace := secretFile(t, EnvPolicyKey, "one")
	own, other := Live(EnvPolicyKey, "one"), Live(EnvPolicyKey, "of a local service")
	replace("two")
	if got := own(); got != "two" {
		t.Errorf("the secret is %q, want two", got)
	}
	replace("")
	if got := own(); got != "two" {
		t.Errorf("with an empty file the secret is %q, want two, as before", got)
	}
	if err := os.Remove(os.Getenv(EnvPolicyKey + file)); err != nil {
		t.Fatal(err)
	}
	if got := own(); got != "two" {
		t.Errorf("without a file the secret is %q, want two, as before", got)
	}
	if got := other(); got != "of a local service" {
		t.Errorf("a secret of another origin is %q, want it as it was", got)
	}
}

func TestOfSeveralKeysTheFirstIsSent(t *testing.T) {
	replace := secretFile(t, EnvPolicyKey, "one")
	e, err := FromEnv()
	if err != nil {
		t.Fatal(err)
	}
	sent, accepted := e.PolicyBearer(), e.PolicyKeys()
	replace("two\none")
	if got := sent(); got != "two" {
		t.Errorf("the key %q is sent, want two", got)
	}
	if got := accepted(); got != "two\none" {
		t.Errorf("the keys %q are accepted, want two and one", got)
	}
	if got := (Endpoints{}).PolicyBearer()(); got != "" {
		t.Errorf("the key %q is sent, want none", got)
	}
}

func TestTheStoreIsAskedWithTheKeysOfTheMoment(t *testing.T) {
	var signed string
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		signed = r.Header.Get("Authorization")
	}))
	t.Cleanup(srv.Close)
	access, secret := secretFile(t, EnvAccess, "access-1"), secretFile(t, EnvSecret, "secret-1")
	t.Setenv(EnvS3, srv.URL)
	t.Setenv(EnvRegion, "us-east-1")
	e, err := FromEnv()
	if err != nil {
		t.Fatal(err)
	}
	b, err := e.OpenStore()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"access-1", "access-2"} {
		if err := b.Check(t.Context()); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(signed, "Credential="+want+"/") {
			t.Errorf("the request is signed %q, want by %s", signed, want)
		}
		access("access-2")
		secret("secret-2")
	}
}

func TestRedisIsConnectedWithThePasswordOfTheMoment(t *testing.T) {
	server := miniredis.RunT(t)
	server.RequireAuth("one")
	replace := secretFile(t, EnvRedis, "redis://:one@"+server.Addr())
	e, err := FromEnv()
	if err != nil {
		t.Fatal(err)
	}
	c, err := e.OpenRedis()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if err := c.Ping(t.Context()).Err(); err != nil {
		t.Errorf("Ping = %v, want an answer", err)
	}
	server.Close()
	server.RequireAuth("two")
	if err := server.Restart(); err != nil {
		t.Fatal(err)
	}
	replace("redis://:two@" + server.Addr())
	for range 20 { // connections that the restart has broken are discarded one by one
		if err = c.Ping(t.Context()).Err(); err == nil {
			break
		}
	}
	if err != nil {
		t.Errorf("Ping with the new password = %v, want an answer", err)
	}

	if _, err := (Endpoints{Redis: "http://x"}).OpenRedis(); fault.KindOf(err) != fault.Invalid {
		t.Errorf("OpenRedis of an HTTP URL = %v, want an invalid fault", err)
	}
	if c, err := (Endpoints{}).OpenRedis(); c != nil || err != nil {
		t.Errorf("OpenRedis without an address = %v, %v, want none", c, err)
	}
}
