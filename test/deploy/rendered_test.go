package deploy

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// tool returns the value of a variable that names a tool, or skips the test.
func tool(t *testing.T, variable string) string {
	t.Helper()

	path := os.Getenv(variable)
	if path == "" {
		t.Skipf("%s is not set: `make deploy-check` sets it", variable)
	}

	return path
}

// variants are further values, so that together with every example they render every template.
var variants = [][]string{
	nil,
	{"--set", "workerDeployment.enabled=true,monitoring.enabled=true"},
	{"--set", "rollout.autoscaling.enabled=true,model.autoscaling.enabled=true,temporal.tls.enabled=true," +
		"temporal.tls.secret=t,temporal.tls.client=true,environments.secret.name=e,gpu.work.storageClassName=fast"},
	{"--set", "networkPolicy.metricsFrom=null,networkPolicy.enabled=true,serve.spot.enabled=true,gpu.gpus=0"},
	{"--set", "payloads.secret.name=payload-keys,s3.secrets.serve=s3-serve,s3.secrets.viewer=s3-view," +
		"payloads.codec.enabled=true,payloads.codec.secret.name=c,temporal.ui=https://temporal.example"},
	{"--set", "serve.tls.secret=serve-tls,trust.secret.name=authority,monitoring.enabled=true"},
	{"--set", "setup.namespace=false,setup.bucket=false,viewer.enabled=false,networkPolicy.enabled=false"},
}

// TestRealToolsRenderTheChart renders every example, and checks the objects against each other, against the code, and
// against the schemas of Kubernetes and of the operators.
func TestRealToolsRenderTheChart(t *testing.T) {
	helm := tool(t, "COLLABUI_HELM")
	chart := filepath.Join(root, "deploy/helm/collabui")
	examples, err := filepath.Glob(filepath.Join(root, "deploy/helm/examples/*.yaml"))
	if err != nil || len(examples) < 3 {
		t.Fatalf("got %d examples, %v; want 3", len(examples), err)
	}
	for _, example := range examples {
		lint := exec.Command(helm, "lint", chart, "--strict", "-f", example, "--kube-version", "1.37.0")
		out, err := lint.CombinedOutput()
		if err != nil {
			t.Errorf("helm lint of %s: %s, want no complaint", example, out)
		}
		for i, further := range variants {
			t.Run(fmt.Sprint(filepath.Base(example), i), func(t *testing.T) {
				args := append([]string{"template", "collabui", chart, "-n", "collabui", "--kube-version", "1.37.0",
					"-f", example}, further...)
				cmd := exec.Command(helm, args...)
				var complaint bytes.Buffer
				cmd.Stderr = &complaint
				rendered, err := cmd.Output()
				if err != nil {
					t.Fatalf("helm template: %s, want objects", &complaint)
				}
				objects := parse(t, rendered)
				checkObjects(t, objects)
				checkDefinitions(t, objects)
				validate(t, rendered)
			})
		}
	}
}

func TestRealToolsRefuseWrongValues(t *testing.T) {
	helm := tool(t, "COLLABUI_HELM")
	example := filepath.Join(root, "deploy/helm/examples/one-gpu-host.yaml")
	for set, want := range map[string]string{
		"images.core.tag=latest":                                   "'not' failed",
		"images.core.repository=":                                  "images.core.repository: where",
		"s3.secret.value=x":                                        "additional properties",
		"redis.url=redis://:pw@h:1":                                "does not match pattern",
		"s3.secret.name=":                                          "s3.secret.name",
		"gpu.autoscaling.enabled=true":                             "additional properties",
		"modelKeys.names[0]=COLLABUI_S3_SECRET_KEY":                "'not' failed",
		"s3.secrets.gateway=x":                                     "invalid propertyName 'gateway'",
		"serve.replicas=0":                                         "set policy.urls, or serve.replicas",
		"temporal.tls.enabled=true,model.autoscaling.enabled=true": "with an API key or a client certificate only",
	} {
		cmd := exec.Command(helm, "template", "x", filepath.Join(root, "deploy/helm/collabui"), "-f", example,
			"--kube-version", "1.37.0", "--set", set)
		if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), want) {
			t.Errorf("--set %s: %v %.300s, want an error with %q", set, err, out, want)
		}
	}
}

// object is a Kubernetes object.
type object = map[string]any

// parse returns the objects of a stream.
func parse(t *testing.T, rendered []byte) []object {
	t.Helper()

	var all []object
	for d := yaml.NewDecoder(bytes.NewReader(rendered)); ; {
		var o object
		if err := d.Decode(&o); err == io.EOF {
			return all
		} else if err != nil {
			t.Fatalf("%v, want YAML", err)
		}
		if o != nil {
			all = append(all, o)
		}
	}
}

// list returns a list in an object.
func list(v any, path ...string) []any {
	l, _ := at(v, path...).([]any)

	return l
}

// number returns a number, which YAML may represent as text.
func number(v any) int {
	n, _ := strconv.Atoi(strings.TrimSuffix(fmt.Sprint(v), "s"))

	return n
}

// TestRealToolsReadTheComposeFile checks compose.yaml with the library of Docker Compose, whose program reads no
// variables, so the test replaces them first.
func TestRealToolsReadTheComposeFile(t *testing.T) {
	program := tool(t, "COLLABUI_COMPOSE")
	file := filepath.Join(t.TempDir(), "compose.yaml")
	if err := os.WriteFile(file, []byte(filled(t)), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(program, file).CombinedOutput()
	if err != nil {
		t.Fatalf("%v %.2000s, want a project", err, out)
	}
	got, _ := at(decoded[map[string]any](t, "the project", string(out)), "services").(map[string]any)
	if want := compose(t).Services; len(got) != len(want) {
		t.Errorf("the project has %d services, want %d", len(got), len(want))
	}
	secrets := map[string][]string{}
	for name, s := range got {
		for _, x := range list(s, "secrets") {
			secrets[name] = append(secrets[name], fmt.Sprint(at(x, "source")))
		}
	}
	checkSecrets(t, secrets)
}

// validate checks rendered objects against the schemas of the oldest and the newest supported version of Kubernetes.
func validate(t *testing.T, rendered []byte) {
	t.Helper()

	python := os.Getenv("COLLABUI_DEPLOY_PYTHON")
	if python == "" {
		return
	}
	for _, version := range []string{"1.29", "1.37"} {
		cmd := exec.Command(python, "-m", "kubernetes_validate", "--strict", "--quiet", "--no-warn", "-k", version,
			"/dev/stdin")
		cmd.Stdin = bytes.NewReader(rendered)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("Kubernetes %s: %v %.2000s, want objects of its schemas", version, err, out)
		}
	}
}
