package deploy

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/collabui/collabui/internal/payloads"
	"github.com/collabui/collabui/test/kit/layout"
	"github.com/collabui/collabui/workers"
)

// users are the services that get a secret, because they need it.
var users = map[string]string{
	"s3_access":  "bucket s3", // of MinIO's own account
	"s3_secret":  "bucket s3",
	"s3_control": "bucket control",
	"s3_rollout": "bucket rollout",
	"s3_model":   "bucket model",
	"s3_gpu":     "bucket gpu trainer",
	"s3_serve":   "bucket policy serve",
	"s3_people":  "bucket cli viewer",
	"payloads":   "cli codec control gpu model rollout trainer viewer", // all services that connect to Temporal
	"policy":     "cli gpu model policy rollout serve trainer",
	"envs":       "cli control emulator rollout",
	"view":       "codec viewer",
	"postgres":   "postgres schema temporal",
	"grafana":    "grafana",
}

// checkSecrets checks that services have the secrets of users and no others.
func checkSecrets(t *testing.T, secrets map[string][]string) {
	t.Helper()
	got := map[string][]string{}
	for service, names := range secrets {
		for _, name := range names {
			got[name] = append(got[name], service)
		}
	}
	for name := range got {
		if users[name] == "" {
			t.Errorf("the secret %s is not among users, want the services that need it there", name)
		}
	}
	for name, want := range users {
		slices.Sort(got[name])
		if all := strings.Join(got[name], " "); all != want {
			t.Errorf("the secret %s is read by %s, want %s", name, all, want)
		}
	}
}

func TestASecretIsWhereItIsNeeded(t *testing.T) {
	p := compose(t)
	secrets := map[string][]string{}
	for name, s := range p.Services {
		secrets[name] = s.Secrets
		if role := s.Environment["COLLABUI_S3_ACCESS_KEY"]; s.ours() && name != "codec" {
			if file := s.Environment["COLLABUI_S3_SECRET_KEY_FILE"]; file != "/run/secrets/s3_"+role {
				t.Errorf("%s has the account %s with the secret %s, want that of the account", name, role, file)
			}
			worker := after(s.args(), "--roles")
			if worker == workers.RolePolicy {
				worker = layout.Serve // it reads the same objects as a gateway
			}
			if worker != "" && worker != role {
				t.Errorf("%s is a worker of %s with the account %s, want that of its role", name, worker, role)
			}
		}
		for _, key := range []string{payloads.EnvKeys, "COLLABUI_POLICY_KEY", "COLLABUI_ENVS_KEY"} {
			file := s.Environment[key+"_FILE"]
			if has := slices.Contains(s.Secrets, filepath.Base(file)); file != "" && !has {
				t.Errorf("%s has %s_FILE=%s, want it among its secrets %v", name, key, file, s.Secrets)
			}
		}
	}
	checkSecrets(t, secrets)

	var want []string
	for name := range p.Secrets {
		role, of := strings.CutPrefix(name, "s3_")
		if of && slices.Contains(layout.Roles, role) {
			want = append(want, role)
		}
		if !strings.Contains(text(t, "compose/prepare.sh"), name) {
			t.Errorf("prepare.sh does not write the secret %s, want it to", name)
		}
	}
	got := strings.Fields(p.Services["bucket"].Environment["ROLES"])
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("bucket makes the accounts %v, want %v", got, want)
	}
}

// TestOnlyGuardedPortsArePublished matters because the Temporal UI and Prometheus answer every host and every origin,
// so that a page in a person's browser could use them. The other servers require a key.
func TestOnlyGuardedPortsArePublished(t *testing.T) {
	for file, want := range map[string][]string{
		"compose.yaml": {"codec", "grafana", "viewer"}, "ports.yaml": {"prometheus", "ui"},
	} {
		var got []string
		for name, s := range decoded[project](t, file, text(t, "compose/"+file)).Services {
			for _, p := range s.Ports {
				if !strings.HasPrefix(p, "${BIND:-127.0.0.1}:") {
					t.Errorf("%s publishes %s of %s, want an address that begins with BIND", file, p, name)
				}
				got = append(got, name)
			}
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("%s publishes ports of %v, want %v", file, got, want)
		}
	}
	if file := defaults(t)["COMPOSE_FILE"]; file != "compose.yaml" {
		t.Errorf(".env.example has COMPOSE_FILE=%s, want compose.yaml alone", file)
	}
}

// TestTheBucketScriptShowsNoKey runs bucket.sh with a program in place of mc that records its arguments and its input.
func TestTheBucketScriptShowsNoKey(t *testing.T) {
	dir := t.TempDir()
	write := func(name, body string) string {
		t.Helper()
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(body), 0o755); err != nil {
			t.Fatal(err)
		}

		return file
	}
	write("mc", fmt.Sprintf(`#!/bin/sh
echo "mc $*" >>%[1]s/args
case "$*" in
  "alias set"* | "admin user add"*) cat >>%[1]s/input ;;
  "admin policy create"*) cat "$6" >>%[1]s/policies ;;
esac
`, dir))
	policies := filepath.Join(root, "deploy/policies")
	script := strings.NewReplacer("/run/secrets", dir, "/policies", policies, "/tmp/mc", dir).Replace(
		text(t, "helm/collabui/files/bucket.sh"))
	env := []string{
		"PATH=" + dir + ":" + os.Getenv("PATH"), "S3_URL=http://s3:9000", "BUCKET=a-bucket", "ROLES=rollout serve",
		"S3_ACCESS_KEY_FILE=" + write("access", "root-name"), "S3_SECRET_KEY_FILE=" + write("secret", "root-secret"),
	}
	write("s3_rollout", "secret-of-rollout")
	write("s3_serve", "secret-of-serve")
	for range 2 { // it may run again
		cmd := exec.Command("sh", write("bucket.sh", script))
		cmd.Env = env
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("bucket.sh: %v, want success\n%s", err, out)
		}
	}

	read := func(name string) string {
		t.Helper()
		raw, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}

		return string(raw)
	}
	args := read("args")
	if strings.Contains(args, "secret-of") || strings.Contains(args, "root-") {
		t.Errorf("the arguments of mc are\n%s\nwant no key among them", args)
	}
	input := "root-name\nroot-secret\nrollout\nsecret-of-rollout\nserve\nsecret-of-serve\n"
	if got := read("input"); got != input+input {
		t.Errorf("mc reads %q, want %q twice", got, input)
	}
	want := strings.ReplaceAll(string(layout.Policy("rollout"))+string(layout.Policy("serve")), "BUCKET", "a-bucket")
	if got := read("policies"); got != want+want {
		t.Errorf("mc gets the policies\n%s\nwant those of both roles for the bucket, twice", got)
	}
	for _, want := range []string{
		"mc mb --ignore-existing store/a-bucket", "mc admin user add store\n",
		"mc admin policy attach store rollout --user rollout", "mc admin policy attach store serve --user serve",
	} {
		if !strings.Contains(args, want) {
			t.Errorf("the arguments of mc are\n%s\nwant %q among them", args, want)
		}
	}
}
