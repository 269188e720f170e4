package results

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/collabui/collabui/domain"
	"github.com/collabui/collabui/internal/policy/infer"
	"github.com/collabui/collabui/internal/records/runs"
	"github.com/collabui/collabui/test/kit/testrun"
)

// TestRealTrainersRunTheExamplesOfAnExport runs the code that the README.md of an export shows, with a small random
// Qwen2 on the CPU: TRL and LLaMA-Factory, on pairs and on demonstrations. The adapters that they train are imported,
// exported and loaded by PEFT. `make test-llamafactory` runs it.
func TestRealTrainersRunTheExamplesOfAnExport(t *testing.T) {
	program, python := os.Getenv("COLLABUI_LLAMAFACTORY"), os.Getenv("COLLABUI_TRL_PYTHON")
	if program == "" || python == "" {
		t.Skip("set COLLABUI_LLAMAFACTORY and COLLABUI_TRL_PYTHON, or run `make test-llamafactory`")
	}
	model := filepath.Join(t.TempDir(), "qwen2")
	runIn(t, ".", python, "../../../scripts/make_model.py", model)
	r := testrun.Learning(t, testrun.Tiny())
	if _, err := r.Play(t, nil); err != nil {
		t.Fatal(err)
	}

	var trained []string
	for _, epoch := range []string{"1", infer.Base} {
		dir := filepath.Join(t.TempDir(), "out")
		x, err := export(t.Context(), r.Bucket, "small", exportOptions{epoch: epoch, out: dir})
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("rows: %v", x.Rows)
		readme := read(t, filepath.Join(dir, "README.md"))
		writeExample(t, filepath.Join(dir, "train.py"), readme, "python", `MODEL = "(.*?)"`, model)
		writeExample(t, filepath.Join(dir, "train.yaml"), readme, "yaml", `model_name_or_path: (\S+)`, model)

		runIn(t, dir, python, "train.py")
		runIn(t, dir, program, "train", "train.yaml")
		trained = append(trained, filepath.Join(dir, "trl"), filepath.Join(dir, "llamafactory"))
	}
	exportsTrained(t, r, python, model, trained)
}

// writeExample writes a block of code of a README. What the pattern's group matches is replaced by the model.
func writeExample(t *testing.T, file, readme, language, pattern, model string) {
	t.Helper()
	_, after, _ := strings.Cut(readme, "\n```"+language+"\n")
	code, _, ok := strings.Cut(after, "\n```\n")
	at := regexp.MustCompile(pattern).FindStringSubmatchIndex(code)
	if !ok || at == nil {
		t.Fatalf("the README has no block of %s with %s, want one:\n%s", language, pattern, readme)
	}
	if err := os.WriteFile(file, []byte(code[:at[2]]+model+code[at[3]:]), 0o644); err != nil {
		t.Fatal(err)
	}
}

// runIn runs a program in a folder, without network, and returns what it prints.
func runIn(t *testing.T, dir, program string, args ...string) []byte {
	t.Helper()
	c := exec.CommandContext(t.Context(), program, args...)
	c.Dir = dir
	c.Env = append(os.Environ(), "HF_HUB_OFFLINE=1", "HF_HOME="+t.TempDir(), "TQDM_DISABLE=1", "CUDA_VISIBLE_DEVICES=")
	var said strings.Builder
	c.Stderr = &said
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%s %v: %v, want success\n%s\n%s", filepath.Base(program), args, err, out, said.String())
	}
	for line := range strings.Lines(string(out) + said.String()) {
		if strings.Contains(line, "train_loss") {
			t.Logf("%s: %s", filepath.Base(program), strings.TrimSpace(line))
		}
	}

	return out
}

// exportsTrained imports adapters, exports them as the policies of a system, and lets PEFT load what was exported.
func exportsTrained(t *testing.T, r *testrun.Run, python, model string, trained []string) {
	t.Helper()
	sys, err := infer.Find(t.Context(), r.Bucket, "small", "1")
	if err != nil {
		t.Fatal(err)
	}
	sys.Policies = nil
	for _, dir := range trained {
		x, err := importFolder(t.Context(), r.Bucket, dir, model)
		if err != nil || x.Kind != domain.ArtifactLoRA {
			t.Fatalf("importFolder(%s) = %+v, %v; want an adapter", dir, x, err)
		}
		sys.Policies = append(sys.Policies, runs.Policy{Digest: x.Digest})
	}
	out := t.TempDir()
	written, err := sys.Write(t.Context(), r.Bucket, out)
	if err != nil {
		t.Fatal(err)
	}

	args := []string{"testdata/peft_load.py", model}
	for _, a := range written.Agents {
		args = append(args, filepath.Join(out, a.Folder))
	}
	var configs []struct {
		Base, Type, Task string
		Rank, Alpha      int
		Modules          []string
	}
	if err := json.Unmarshal(runIn(t, ".", python, args...), &configs); err != nil {
		t.Fatal(err)
	}
	if len(configs) != len(trained) {
		t.Fatalf("%d adapters are loaded, want %d", len(configs), len(trained))
	}
	for i, c := range configs {
		if c.Base != "qwen2" || c.Type != "LORA" || c.Task != "CAUSAL_LM" || c.Rank != written.Agents[i].Rank ||
			c.Alpha < 1 || !slices.IsSorted(c.Modules) || len(c.Modules) == 0 {
			t.Errorf("the configuration of agent %d = %+v, want a LoRA adapter of qwen2", i, c)
		}
	}
}
