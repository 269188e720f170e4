package workers

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/config"
	"github.com/collabui/collabui/internal/method/spec"
)

func TestASpecificationReadsOnlyListedVariables(t *testing.T) {
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte("from a file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"ONE_API_KEY": "one", "COLLABUI_S3_SECRET_KEY": "canary", "COLLABUI_TEMPORAL_API_KEY": "canary",
		"AWS_SECRET_ACCESS_KEY": "canary", "HOME_TOKEN": "token", "FILED_API_KEY_FILE": file,
	} {
		t.Setenv(name, value)
	}

	for _, c := range []struct {
		list, name, want, fault string // fault: part of the error
	}{
		{"", "", "", ""},
		{"", "ONE_API_KEY", "one", ""},
		{"", "FILED_API_KEY", "from a file", ""},
		{"", "NONE_API_KEY", "", "this worker has no value of NONE_API_KEY"},
		{"", "COLLABUI_S3_SECRET_KEY", "", "gives no model the variable COLLABUI_S3_SECRET_KEY"},
		{"", "COLLABUI_TEMPORAL_API_KEY", "", "gives no model the variable"},
		{"*", "COLLABUI_TEMPORAL_API_KEY", "", "gives no model the variable"},
		{"", "AWS_SECRET_ACCESS_KEY", "", "its list COLLABUI_MODEL_KEYS has *_API_KEY"},
		{"", "HOME_TOKEN", "", "gives no model the variable HOME_TOKEN"},
		{"X_KEY, HOME_TOKEN", "HOME_TOKEN", "token", ""},
		{"X_KEY, HOME_TOKEN", "ONE_API_KEY", "", "gives no model the variable ONE_API_KEY"},
	} {
		t.Setenv(config.EnvModelKeys, c.list)
		got, err := secret(c.name, spec.Model{BaseURL: "https://models.example/v1"})
		if got != c.want || (err == nil) != (c.fault == "") {
			t.Errorf("secret(%q) with the list %q = %q, %v, want %q and an error with %q",
				c.name, c.list, got, err, c.want, c.fault)
		}
		if err != nil && (!strings.Contains(err.Error(), c.fault) || fault.KindOf(err) != fault.Invalid) {
			t.Errorf("secret(%q) with the list %q = %v, want an invalid fault with %q", c.name, c.list, err, c.fault)
		}
	}
}

// TestAMissingKeyNamesTheFileForIt lacks a key where a supervisor has named a file of keys.
func TestAMissingKeyNamesTheFileForIt(t *testing.T) {
	path := filepath.Join(t.TempDir(), config.KeyFile)
	t.Setenv(config.EnvKeyFile, path)
	model := spec.Model{BaseURL: "https://models.example/v1"}
	_, err := secret("NEW_API_KEY", model)
	if want := "add the line NEW_API_KEY=VALUE to " + path; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("secret = %v, want an error with %q", err, want)
	}
	if err := os.WriteFile(path, []byte("NEW_API_KEY=new\nCOLLABUI_S3_SECRET_KEY=canary\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := secret("NEW_API_KEY", model); err != nil || got != "new" {
		t.Errorf("secret = %q, %v; want the key of the file", got, err)
	}
	if got, err := secret("COLLABUI_S3_SECRET_KEY", model); err == nil {
		t.Errorf("secret = %q, want an error for a variable that no model may name", got)
	}
}

func TestAKeyGoesToItsHostOnly(t *testing.T) {
	t.Setenv("ONE_API_KEY", "one")
	const https, plain, elsewhere = "https://models.example/v1", "http://models.example/v1", "https://other.example/v1"
	for _, c := range []struct {
		list, url, proxy string
		sent             bool
	}{
		{"ONE_API_KEY=models.example", https, "", true},
		{"ONE_API_KEY=models.example", "https://MODELS.example/v1", "", true},
		{"ONE_API_KEY=models.example", https, "http://proxy.example", false},
		{"ONE_API_KEY=models.example", plain, "", false},
		{"ONE_API_KEY=http://models.example", plain, "", true},
		{"ONE_API_KEY=http://models.example", https, "", true},
		{"ONE_API_KEY=http://models.example:80", plain, "", false},
		{"ONE_API_KEY=http://models.example", "http://other.example/v1", "", false},
		{"*_API_KEY", https, "", true},
		{"*_API_KEY", plain, "", false},
		{"*_API_KEY", "http://127.0.0.1:8000/v1", "", true},
		{"*_API_KEY", "http://localhost:8000/v1", "", true},
		{"*_API_KEY", "http://127.0.0.1.example/v1", "", false},
		{"ONE_API_KEY=models.example", plain, "http://proxy.example", false},
		{"ONE_API_KEY=models.example", elsewhere, "", false},
		{"ONE_API_KEY=models.example", "https://models.example:444/v1", "", false},
		{"ONE_API_KEY=models.example", "https://models.example@other.example/v1", "", false},
		{"ONE_API_KEY=models.example", "https://models.example.other.example/v1", "", false},
		{"ONE_API_KEY=models.example, *_API_KEY=other.example", elsewhere, "", true},
		{"ONE_API_KEY=models.example, *_API_KEY", elsewhere, "", false}, // what binds a key holds
		{"ONE_API_KEY=models.example, *_API_KEY", https, "", true},
		{"ONE_API_KEY=models.example, TWO_API_KEY", elsewhere, "", false},
		{"*_API_KEY=models.example", elsewhere, "", false},
		{"*_API_KEY=", elsewhere, "", false},
	} {
		t.Setenv(config.EnvModelKeys, c.list)
		got, err := secret("ONE_API_KEY", spec.Model{BaseURL: c.url, Proxy: c.proxy})
		if sent := got == "one" && err == nil; sent != c.sent {
			t.Errorf("with the list %q, secret to %s by %q = %q, %v, want it sent: %v",
				c.list, c.url, c.proxy, got, err, c.sent)
		}
		if err != nil && (!strings.Contains(err.Error(), "does not send ONE_API_KEY to "+c.url) ||
			fault.KindOf(err) != fault.Invalid) {
			t.Errorf("with the list %q: %v, want an invalid fault that names the variable and the address", c.list, err)
		}
	}
}
