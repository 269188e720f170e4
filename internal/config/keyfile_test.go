package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/collabui/collabui/fault"
)

func TestKeysOfModelsComeFromAPrivateFile(t *testing.T) {
	t.Setenv("ONE_API_KEY", "from the environment")
	for name, c := range map[string]struct {
		content, key string
		mode         os.FileMode
		want, fault  string
	}{
		"a line":                {"# mine\n\nONE_API_KEY=one\nTWO_API_KEY=two\n", "ONE_API_KEY", 0o600, "one", ""},
		"quotes and blanks":     {"ONE_API_KEY=one\nTWO_API_KEY = \"t=w o\"", "TWO_API_KEY", 0o600, "t=w o", ""},
		"another key":           {"TWO_API_KEY=canary\n", "ONE_API_KEY", 0o600, "from the environment", ""},
		"no such key":           {"TWO_API_KEY=canary\n", "NONE_API_KEY", 0o600, "", ""},
		"a group may read it":   {"ONE_API_KEY=canary\n", "ONE_API_KEY", 0o640, "", "chmod 600 "},
		"others may write it":   {"ONE_API_KEY=canary\n", "ONE_API_KEY", 0o602, "", "chmod 600 "},
		"a line without a name": {"ONE_API_KEY\ncanary\n", "ONE_API_KEY", 0o600, "", "keys.env:1 is not NAME=VALUE"},
		"a bare value":          {"TWO_API_KEY=t\ncanary\n", "ONE_API_KEY", 0o600, "", "keys.env:2 is not NAME=VALUE"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), KeyFile)
			t.Setenv(EnvKeyFile, path)
			if err := os.WriteFile(path, []byte(c.content), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(path, c.mode); err != nil {
				t.Fatal(err)
			}
			got, err := ModelSecret(c.key)
			if got != c.want || (err == nil) != (c.fault == "") {
				t.Errorf("ModelSecret = %q, %v; want %q and an error with %q", got, err, c.want, c.fault)
			}
			if err != nil && (!strings.Contains(err.Error(), c.fault) || strings.Contains(err.Error(), "canary") ||
				fault.KindOf(err) != fault.Invalid) {
				t.Errorf("ModelSecret = %v, want an invalid fault with %q and without a value", err, c.fault)
			}
		})
	}
}

// TestANewKeyNeedsNoRestart writes and changes the file while this process runs.
func TestANewKeyNeedsNoRestart(t *testing.T) {
	path := filepath.Join(t.TempDir(), KeyFile)
	t.Setenv(EnvKeyFile, path)
	for _, want := range []string{"", "first", "second"} {
		if want != "" {
			if err := os.WriteFile(path, []byte("NEW_API_KEY="+want+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := ModelSecret("NEW_API_KEY"); err != nil || got != want {
			t.Errorf("ModelSecret = %q, %v; want %q", got, err, want)
		}
	}
}
