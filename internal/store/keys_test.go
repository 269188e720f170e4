package store_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/collabui/collabui/fault"
	"github.com/collabui/collabui/internal/store"
)

// awsHost hides all AWS keys from this process except the ones that a test provides.
func awsHost(t *testing.T) {
	t.Helper()
	for _, name := range []string{
		"AWS_ACCESS_KEY_ID", "AWS_ACCESS_KEY", "AWS_SECRET_ACCESS_KEY", "AWS_SECRET_KEY", "AWS_SESSION_TOKEN",
		"AWS_PROFILE", "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
		"AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_ROLE_ARN",
	} {
		t.Setenv(name, "")
	}
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", filepath.Join(t.TempDir(), "none"))
	t.Setenv("AWS_CONFIG_FILE", filepath.Join(t.TempDir(), "none"))
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
}

// file writes a file and returns its path.
func file(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}

	return path
}

// served starts a server that answers by path.
func served(t *testing.T, answers map[string]string) (address string) {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, ok := answers[r.URL.Path]
		if !ok {
			w.WriteHeader(http.StatusNotFound)
		}
		_, _ = fmt.Fprint(w, text)
	}))
	t.Cleanup(srv.Close)

	return srv.URL
}

func TestKeysComeFromWhereAWSsProgramsFindThem(t *testing.T) {
	const role = "/latest/meta-data/iam/security-credentials/"
	later := time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	for name, c := range map[string]struct {
		given store.Config
		place func(t *testing.T)
		want  string // access key and session token
	}{
		"ours before the environment's": {
			store.Config{Access: "ours", Secret: "s", Token: "t"},
			func(t *testing.T) {
				t.Helper()
				t.Setenv("AWS_ACCESS_KEY_ID", "env")
				t.Setenv("AWS_SECRET_ACCESS_KEY", "s")
				t.Setenv("AWS_SESSION_TOKEN", "not ours")
			}, "ours t",
		},
		"the environment": {store.Config{}, func(t *testing.T) {
			t.Helper()
			t.Setenv("AWS_ACCESS_KEY_ID", "env")
			t.Setenv("AWS_SECRET_ACCESS_KEY", "s")
			t.Setenv("AWS_SESSION_TOKEN", "session")
		}, "env session"},
		"a profile of a file": {store.Config{}, func(t *testing.T) {
			t.Helper()
			t.Setenv("AWS_PROFILE", "lab")
			t.Setenv("AWS_SHARED_CREDENTIALS_FILE", file(t, "[default]\naws_access_key_id=other\n"+
				"aws_secret_access_key=s\n[lab]\naws_access_key_id=lab\naws_secret_access_key=s\n"+
				"aws_session_token=session\n"))
		}, "lab session"},
		"a web identity": {store.Config{}, func(t *testing.T) {
			t.Helper()
			t.Setenv("AWS_WEB_IDENTITY_TOKEN_FILE", file(t, "jwt"))
			t.Setenv("AWS_ROLE_ARN", "arn:aws:iam::1:role/r")
			t.Setenv("AWS_ENDPOINT_URL_STS", served(t, map[string]string{
				"/": `<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">` +
					"<AssumeRoleWithWebIdentityResult><Credentials>" +
					"<AccessKeyId>web</AccessKeyId><SecretAccessKey>s</SecretAccessKey>" +
					"<SessionToken>session</SessionToken><Expiration>" + later + "</Expiration></Credentials>" +
					"</AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>",
			}))
		}, "web session"},
		"the machine": {store.Config{}, func(t *testing.T) {
			t.Helper()
			t.Setenv("AWS_EC2_METADATA_DISABLED", "")
			t.Setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", served(t, map[string]string{
				"/latest/api/token": "token", role: "worker",
				role + "worker": `{"Code": "Success", "AccessKeyId": "imds", "SecretAccessKey": "s", ` +
					`"Token": "session", "Expiration": "` + later + `"}`,
			}))
		}, "imds session"},
	} {
		t.Run(name, func(t *testing.T) {
			awsHost(t)
			c.place(t)
			var got string
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				signed, _, _ := strings.Cut(r.Header.Get("Authorization"), "/")
				_, access, _ := strings.Cut(signed, "Credential=")
				got = access + " " + r.Header.Get("X-Amz-Security-Token")
				w.Header().Set("ETag", `"e"`)
			}))
			t.Cleanup(srv.Close)
			c.given.Endpoint, c.given.Bucket = strings.TrimPrefix(srv.URL, "http://"), "bucket"
			c.given.Region = "us-east-1"
			b, err := store.Open(c.given)
			if err != nil {
				t.Fatal(err)
			}
			for range 2 {
				if err := b.Check(t.Context()); err != nil {
					t.Fatalf("Check = %v, want nil", err)
				}
				if got != c.want {
					t.Errorf("the request has the access key and the token %q, want %q", got, c.want)
				}
			}
		})
	}
}

func TestWithoutKeysThePlacesAreNamed(t *testing.T) {
	awsHost(t)
	b, err := store.Open(store.Config{Endpoint: "127.0.0.1:1", Bucket: "bucket", Region: "us-east-1"})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		err := b.Check(t.Context())
		if fault.KindOf(err) != fault.Invalid {
			t.Errorf("Check = %v of kind %s, want an invalid fault", err, fault.KindOf(err))
		}
		for _, want := range []string{"COLLABUI_S3_ACCESS_KEY", "AWS_ACCESS_KEY_ID"} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("Check = %v, want it to contain %q", err, want)
			}
		}
	}
}
